"""The process behind `SteadyLoad`: loads a server in slices until nobody listens any more.

Reads a plan (JSON, one line) from stdin. Stores its records, then runs it again and again, each time with another seed,
and prints a line for every slice: the word `report` and what it saw, as JSON; for an error `error` and the error, and
ends. It also ends with its stdin, so that no load outlives whoever asked for it.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading

from bayop import _core
from bayop.errors import BayopError
from bayop.load.plan import STORES, translate


def main() -> None:
    """Loads until the end of stdin."""
    plan = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    # Printing takes time in which the server would have a rest: it is done while the next slice runs.
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    printer = threading.Thread(target=_print_all, args=(lines,))
    printer.start()
    try:
        if plan["dialect"] in STORES:
            _core.load_preload(json.dumps(plan))
        while True:
            lines.put(f"report {_core.load_run(json.dumps(plan)).to_json()}")
            plan["seed"] += 1
    except _core.Error as error:
        lines.put(f"error {json.dumps(_fields(translate(error)))}")
    finally:
        lines.put(None)
        printer.join()


def _end_with_stdin() -> None:
    sys.stdin.read()
    os._exit(0)


def _print_all(lines: queue.SimpleQueue[str | None]) -> None:
    while (line := lines.get()) is not None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def _fields(error: BayopError) -> dict[str, object]:
    return {
        "kind": type(error).__name__,
        "wrong": error.wrong,
        "rule": error.rule,
        "value": None if error.value is None else str(error.value),
        "place": error.place,
        "hint": error.hint,
    }


if __name__ == "__main__":
    main()
