"""The process behind `SteadyLoad`: loads a server in slices until nobody listens any more.

Reads a plan (JSON, one line) from stdin. Stores its records, but for `--noload`, then runs it again and again over
the same connections, each time with another seed, and prints a line for every slice: the word `report` and what it
saw, as JSON; for an error `error` and the error, and ends. A further plan, of the same records, takes the place of
the first from the next slice on. It also ends with its stdin, so that no load outlives whoever asked for it.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import sys
import threading
from typing import Any

from bayop import _core
from bayop.load.plan import STORES, translate


def main() -> None:
    """Loads until the end of stdin."""
    plans = [json.loads(sys.stdin.readline())]
    threading.Thread(target=_heed_stdin, args=(plans,), daemon=True).start()
    # Printing takes time in which the server would have a rest: it is done while the next slice runs.
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    printer = threading.Thread(target=_print_all, args=(lines,))
    printer.start()
    try:
        if plans[0]["dialect"] in STORES and "--noload" not in sys.argv:
            _core.load_preload(json.dumps(plans[0]))
        connections = _core.LoadConnections()
        for run in itertools.count():
            plan = plans[-1] | {"seed": plans[-1]["seed"] + run}
            lines.put(f"report {_core.load_run(json.dumps(plan), connections=connections).to_json()}")
    except _core.Error as error:
        lines.put(f"error {json.dumps(translate(error).parts)}")
    finally:
        lines.put(None)
        printer.join()


def _heed_stdin(plans: list[dict[str, Any]]) -> None:
    for line in sys.stdin:
        plans.append(json.loads(line))  # noqa: PERF401 -- it counts as soon as it is there
    os._exit(0)


def _print_all(lines: queue.SimpleQueue[str | None]) -> None:
    while (line := lines.get()) is not None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
