"""Prints what a program of this workspace is made of, as CycloneDX 1.5 (ECMA-424) in JSON.

usage: packaging/bill_of_materials.py bayop-agent

The crates are those that `cargo tree` names, the sums those of Cargo.lock. No time and no serial number is in it: the
same sources give the same bill.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def bill(program: str) -> dict[str, Any]:
    """The bill of a program, by the name of its package."""
    words = ["cargo", "tree", "--locked", "--package", program, "--edges", "normal", "--prefix", "none"]
    tree = subprocess.run([*words, "--format", "{p}|{l}"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    sums = {(crate["name"], crate["version"]): crate.get("checksum") for crate in lock}
    crates = {}
    for line in tree.stdout.splitlines():
        package, _, licences = line.removesuffix(" (*)").partition("|")
        name, version = package.split()[:2]
        crate = name, version.removeprefix("v")
        crates[crate] = component(*crate, licences=licences, checksum=sums[crate])
    own = crates.pop(next(crate for crate in crates if crate[0] == program))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": own | {"type": "application"}},
        "components": [crates[crate] for crate in sorted(crates)],
    }


def component(name: str, version: str, *, licences: str, checksum: str | None) -> dict[str, Any]:
    """A crate; one of our own has no sum and is in no registry."""
    # Old crates write "MIT/Apache-2.0", which SPDX does not know.
    about: dict[str, Any] = {"type": "library", "name": name, "version": version}
    about["licenses"] = [{"expression": licences.replace("/", " OR ")}]
    if checksum is None:
        return about
    return about | {"hashes": [{"alg": "SHA-256", "content": checksum}], "purl": f"pkg:cargo/{name}@{version}"}


if __name__ == "__main__":
    json.dump(bill(sys.argv[1]), sys.stdout, indent=1)
    sys.stdout.write("\n")
