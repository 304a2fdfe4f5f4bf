"""What docs/security.md says of unsafe code and of fuzzing is so."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
UNSAFE = re.compile(r"\bunsafe (?:\{|impl\b|trait\b|extern\b)")


def test_every_unsafe_block_is_in_the_table_and_says_why_it_is_sound() -> None:
    counts: Counter[str] = Counter()
    for source in sorted((ROOT / "crates").rglob("*.rs")):
        lines = source.read_text(encoding="utf-8").splitlines()
        path = source.relative_to(ROOT).as_posix()
        for at, line in enumerate(lines):
            if line.lstrip().startswith("//"):
                continue
            counts[path] += len(UNSAFE.findall(line))
            if UNSAFE.search(line):
                above = next(i for i in range(at - 1, -1, -1) if not lines[i].lstrip().startswith("//"))
                assert "// SAFETY: " in "".join(lines[above + 1 : at]), f"{path}:{at + 1}"
    table = re.findall(r"^\| `(crates/\S+\.rs)` \| (\d+) \|", PAGE, re.MULTILINE)
    assert {path: int(count) for path, count in table} == +counts


def test_every_fuzz_target_is_built_described_and_has_seeds() -> None:
    fuzz = ROOT / "fuzz"
    targets = {path.stem for path in (fuzz / "targets").glob("*.rs")}
    manifest = tomllib.loads((fuzz / "Cargo.toml").read_text(encoding="utf-8"))
    assert targets == {program["name"] for program in manifest["bin"]}
    assert targets == set(re.findall(r"^\| `([a-z]+_[a-z]+)` \|", PAGE, re.MULTILINE))
    assert all(any((fuzz / "seeds" / target).iterdir()) for target in targets)
    assert targets == {path.name for path in (fuzz / "seeds").iterdir()}


def test_what_is_fuzzed_is_what_is_built() -> None:
    def versions(folder: Path) -> dict[str, set[str]]:
        packages = tomllib.loads((folder / "Cargo.lock").read_text(encoding="utf-8"))["package"]
        return {p["name"]: {q["version"] for q in packages if q["name"] == p["name"]} for p in packages}

    built, fuzzed = versions(ROOT), versions(ROOT / "fuzz")
    assert len(fuzzed) > 100
    assert [name for name, found in fuzzed.items() if name in built and not found <= built[name]] == []
