"""How fast and in how much memory a long interrupt log is summarised.

Makes a synthetic log (text as intlog writes it, seeded), summarises it, converts it to Parquet and summarises that,
each in a process of its own, whose peak of resident memory and CPU seconds the kernel reports. Prints JSON lines.

Example:
  python -m bench.interrupts.run --records 100000000 --out bench/interrupts/results
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from multiprocessing import Process
from pathlib import Path

from bench import environment
from bench.interrupts.synthetic import write_log


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("build/bench-interrupts"), help="where the logs go")
    parser.add_argument("--out", type=Path, help="write rows.jsonl and env.json here")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    name = f"{args.records}_records_seed_{args.seed}"
    text, parquet = args.folder / f"{name}.txt", args.folder / f"{name}.parquet"
    if not text.exists():
        # In a process of its own: what this one holds, its children begin with, and it would count as theirs.
        writer = Process(target=write_log, args=(text, args.records, args.seed))
        writer.start()
        writer.join()
        if writer.exitcode:
            sys.exit(writer.exitcode)
    rows = []
    for what, command, file in (
        ("summarise text", ["show", str(text), "--json"], text),
        ("convert text to Parquet", ["convert", str(text), "--out", str(parquet), "--json"], text),
        ("summarise Parquet", ["show", str(parquet), "--json"], parquet),
    ):
        row = {"what": what, "file_bytes": file.stat().st_size} | measured(command)
        print(json.dumps(row), flush=True)
        rows.append(row)
    numbers = [row.pop("shown") for row in rows]
    agree = {k: v for k, v in numbers[0].items() if k != "file"} == {k: v for k, v in numbers[2].items() if k != "file"}
    print(json.dumps({"text_and_parquet_agree": agree}))
    if args.out:
        environment.write(args.out, "bench.interrupts.run", sys.argv[1:])
        (args.out / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")


def measured(command: list[str]) -> dict[str, object]:
    """What a `bayop interrupts` command took: records/s by the clock and by CPU seconds, and its peak of memory."""
    start_s = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "bayop", "interrupts", *command], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    numbers = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - start_s
    assert status == 0
    cpu_s = usage.ru_utime + usage.ru_stime
    records = numbers["records"]
    return {
        "records": records,
        "wall_s": round(wall_s, 2),
        "cpu_s": round(cpu_s, 2),
        "records_per_s": round(records / wall_s),
        "records_per_cpu_s": round(records / cpu_s),
        "peak_resident_mib": round(usage.ru_maxrss / 2**10),
        "shown": numbers,
    }


if __name__ == "__main__":
    main()
