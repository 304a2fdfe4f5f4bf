"""The reference page of events, made from their declaration; a test fails when the committed page is stale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bayop.events import ERROR, EVENTS, Event

_HEAD: Final = """\
# Events: what programs read

With `--json` a verb prints JSON on stdout, one object a line, and nothing else. Each line has a field `event`. It is
flushed as soon as it is known, so that a reader can follow:

```console
$ bayop tune --target study --data example:memcached --load 600kqps --json
```

This page is generated, as are the JSON Schemas beside it; change
the [declarations](../../python/bayop/events), then:

```console
$ bayop help --events > docs/reference/events.md
$ bayop help tune --events > docs/reference/events/tune.json
```

- Numbers are in the unit in which their name ends: `power_w`, `p99_us`, `qps`. There is no NaN; what is not known is
  `null`. An SLO is spelled as people type it, `p99<500us`: its limit has a unit of its own.
- A `setting` has a value for every knob, in the unit of the knob's id; `"auto"` leaves it to the operating system.
- Fields may be added; a reader leaves out what it does not know. None changes its meaning.
- An error is an event, too, and the last one: `message` is what stands on stderr, `rule`, `value`, `place` and `hint`
  are its parts, and [`exit_code`](../architecture.md#errors-and-exit-codes) is that of the process.

"""


def page() -> str:
    """The page as Markdown."""
    parts = [_HEAD, _table("Any verb", [ERROR])]
    parts += [_table(f"[`{verb}`](events/{file_name(verb)})", events) for verb, events in EVENTS.items()]
    return "".join(parts).rstrip("\n") + "\n"


def file_name(verb: str) -> str:
    """Where the schema of a verb stands: `twin-run.json`."""
    return f"{verb.replace(' ', '-')}.json"


def _table(title: str, events: Sequence[Event]) -> str:
    rows = "".join(f"| `{event.name}` | {_fields(event)} | {event.says} |\n" for event in events)
    return f"## {title}\n\n| event | fields | what it says |\n|---|---|---|\n{rows}\n"


def _fields(event: Event) -> str:
    names = [f"`{name}`" for name in event.fields] + [f"(`{name}`)" for name in event.optional]
    return ", ".join(names) + (", and more by name" if event.more is not None else "")
