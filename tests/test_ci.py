"""What CI does not run every day it runs on one day of the week."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_weekly_test_has_a_day() -> None:
    run = (ROOT / ".ci/run").read_text(encoding="utf-8")
    words = " ".join(re.findall(r'WEEKLY=("[^"]*"|\S+)', run))
    folders = [path for word in re.findall(r"tests/[^\s\")]+", words) for path in ROOT.glob(word)]
    texts = {path: path.read_text(encoding="utf-8") for path in ROOT.glob("tests/*/**/test_*.py")}
    marked = [path for path, text in texts.items() if "pytest.mark.weekly" in text or "each_block(" in text]
    assert len(marked) > 5
    assert [path for path in marked if not any(path.is_relative_to(folder) for folder in folders)] == []
