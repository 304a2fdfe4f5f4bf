"""The reference page of the knobs, made from the catalogue; a test fails when the committed page is stale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayop._core import DriverRule, KnobEntry

_HEAD = """\
# Knobs

Every knob that BayOp knows, from the catalogue [`crates/knobs/catalogue.toml`](../../crates/knobs/catalogue.toml).
This page is generated; change the catalogue, then:

```console
$ bayop knobs --markdown > docs/reference/knobs.md
```

The number of a setting is in the unit that the knob's id carries. `auto` hands any knob back: it gets the value that
the agent found. What one machine has, and what of it BayOp may write, is shown by its agent:

<!-- test: needs agent -->
```console
$ bayop knobs --agent unix:/run/bayop/agent.sock
```
"""


_DRIVERS = """\
## What network drivers make of it

Drivers round what they are asked for, clamp it, or take some values for something else. Some then show what was asked:
`bayop doctor --calibrate nic` measures what is in effect.

| driver | parameters | rule | hazards | source |
|---|---|---|---|---|
"""


def page(catalogue: Sequence[KnobEntry], rules: Sequence[DriverRule]) -> str:
    """The page as Markdown."""
    rows = "\n".join(f"| [`{e['id']}`](#{_anchor(e['id'])}) | {e['unit'] or ''} | {e['summary']} |" for e in catalogue)
    contents = f"| knob | unit | |\n|---|---|---|\n{rows}\n"
    return "\n".join([_HEAD, contents, *map(_section, catalogue), _DRIVERS + "".join(map(_row, rules))])


def _section(entry: KnobEntry) -> str:
    safest = {"low": "the least value", "high": "the greatest value", None: "not known"}[entry["safest"]]
    opt_in = (
        ["- **opt-in**: reaches below the kernel's own drivers; allow it only with a reason"] if entry["opt_in"] else []
    )
    lines = [
        f"## {entry['id']}",
        "",
        f"{entry['summary']}.",
        "",
        f"- **unit**: {entry['unit'] or 'none'}",
        f"- **place**: {entry['place']}",
        f"- **values**: {entry['domain']}",
        f"- **read**: {entry['read']}",
        f"- **write**: {entry['write']}",
        f"- **undo**: {entry['undo']}",
        f"- **fastest service at**: {safest}",
        *(f"- **matters only with**: {other} {values}" for other, values in entry["only_with"].items()),
        *opt_in,
        *(f"- **hazard**: {hazard}" for hazard in entry["hazards"]),
        f"- **source**: {entry['source']}",
    ]
    return "\n".join(lines) + "\n"


def _row(rule: DriverRule) -> str:
    values = "; ".join([rule["rule"], *rule["reserved"]])
    cells = (rule["name"], ", ".join(rule["parameters"]), values, "; ".join(rule["hazards"]), rule["source"])
    return f"| {' | '.join(cells)} |\n"


def _anchor(knob_id: str) -> str:
    """The heading's anchor as GitHub makes it."""
    return knob_id.replace(".", "")
