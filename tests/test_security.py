"""What docs/security.md says of unsafe code, of fuzzing and of what packages are made of is so."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from collections import Counter
from importlib.metadata import files
from pathlib import Path

import bayop

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
UNSAFE = re.compile(r'\bunsafe (?:\{|impl\b|trait\b|extern "C" \{)')


def test_every_unsafe_block_is_in_the_table_and_says_why_it_is_sound() -> None:
    counts: Counter[str] = Counter()
    for source in sorted(path for folder in ("crates", "kernel", "libos") for path in (ROOT / folder).rglob("*.rs")):
        lines = source.read_text(encoding="utf-8").splitlines()
        path = source.relative_to(ROOT).as_posix()
        for at, line in enumerate(lines):
            if line.lstrip().startswith("//"):
                continue
            counts[path] += len(UNSAFE.findall(line))
            if UNSAFE.search(line):
                above = next(i for i in range(at - 1, -1, -1) if not lines[i].lstrip().startswith("//"))
                assert "// SAFETY: " in "".join(lines[above + 1 : at]), f"{path}:{at + 1}"
    table = re.findall(r"^\| `((?:crates|kernel|libos)/\S+\.rs)` \| (\d+) \|", PAGE, re.MULTILINE)
    assert {path: int(count) for path, count in table} == +counts


def test_every_fuzz_target_is_built_described_and_has_seeds() -> None:
    fuzz = ROOT / "fuzz"
    targets = {path.stem for path in (fuzz / "targets").glob("*.rs")}
    manifest = tomllib.loads((fuzz / "Cargo.toml").read_text(encoding="utf-8"))
    assert targets == {program["name"] for program in manifest["bin"]}
    assert targets == set(re.findall(r"^\| `([a-z]+_[a-z]+)` \|", PAGE, re.MULTILINE))
    assert all(any((fuzz / "seeds" / target).iterdir()) for target in targets)
    assert targets == {path.name for path in (fuzz / "seeds").iterdir()}


def test_the_python_package_comes_with_a_bill_of_materials() -> None:
    """maturin writes it, with the crates of every platform."""
    (bill,) = [path for path in files("bayop") or [] if path.match("*.dist-info/sboms/*.json")]
    named = {(crate["name"], crate["version"]) for crate in json.loads(bill.read_text(encoding="utf-8"))["components"]}
    tree = ["cargo", "tree", "--locked", "--edges", "normal", "--package", "bayop-python"]
    lines = subprocess.run(tree, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"([\w-]+) v(\d\S*)", lines)) - named == {("bayop-python", bayop.__version__)}


def test_what_is_fuzzed_is_what_is_built() -> None:
    def versions(folder: Path) -> dict[str, set[str]]:
        packages = tomllib.loads((folder / "Cargo.lock").read_text(encoding="utf-8"))["package"]
        return {p["name"]: {q["version"] for q in packages if q["name"] == p["name"]} for p in packages}

    built, fuzzed = versions(ROOT), versions(ROOT / "fuzz")
    assert len(fuzzed) > 100
    assert [name for name, found in fuzzed.items() if name in built and not found <= built[name]] == []
