from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.papers.claims.claim import Verdict
from bayop.papers.claims.library_os import factor

ROOT = Path(__file__).resolve().parents[4]


def window(system: str, connections: int, instructions: float, qps: float = 1000.0, app: str = "memcached") -> str:
    row = {"app": app, "system": system, "connections": connections, "qps": qps, "requests": 3000}
    return json.dumps({**row, "instructions_per_request": instructions, "halts_per_request": 0.5})


def write(folder: Path, *windows: str) -> Path:
    file = folder / "windows.jsonl"
    file.write_text("\n".join(windows) + "\n")
    return file


def test_medians_are_compared_where_both_were_counted_and_the_least_over_tuned_linux_is_judged(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        *(window("libos", 1, each) for each in (900, 1000, 9000)),
        window("libos", 64, 2000),
        window("libos", 1000, 1),
        window("linux", 1, 8000),
        window("linux", 64, 9000),
        window("linux-tuned", 1, 5000),
        window("linux-tuned", 64, 6000),
        window("linux-tuned", 64, 100, qps=2000.0),
        *(window("libos", each, 10, app="tpcc") for each in (1, 64)),
        window("linux-tuned", 1, 20, app="tpcc"),
    )
    found = factor(file, "memcached", 3.0)
    assert found is not None
    assert found.numbers == {
        "stock_linux_least_x": 4.5, "stock_linux_greatest_x": 8.0,
        "tuned_linux_least_x": 3.0, "tuned_linux_greatest_x": 5.0,
    }  # fmt: skip
    assert (found.verdict, found.source) == (Verdict.REPRODUCED, str(file))
    service = factor(file, "tpcc", 1.5)
    assert service is not None
    assert service.numbers == {"tuned_linux_least_x": 2.0, "tuned_linux_greatest_x": 2.0}
    for printed, verdict in ((4.0, Verdict.PARTLY), (6.0, Verdict.NOT)):
        other = factor(file, "memcached", printed)
        assert other is not None
        assert other.verdict is verdict


def test_what_was_not_counted_is_absent(tmp_path: Path) -> None:
    assert factor(None, "memcached", 2.5) is None
    assert factor(write(tmp_path, window("libos", 1, 1000)), "memcached", 2.5) is None
    assert factor(write(tmp_path, window("libos", 1, 1000), window("linux", 1, 9000)), "memcached", 2.5) is None
    assert factor(write(tmp_path, window("libos", 1, 1000), window("linux-tuned", 2, 9000)), "memcached", 2.5) is None


@pytest.mark.parametrize(
    "text",
    [
        "# Title",
        "[]",
        window("libos", 1, 0),
        window("solaris", 1, 1000),
        window("libos", 1, 1000, app="nginx"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(InputError, match=r"counted instructions must be the lines that .* writes") as caught:
        factor(file, "memcached", 2.5)
    assert str(file) in caught.value.message
    assert caught.value.hint == "name the file that has them"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file") as caught:
        factor(tmp_path / "nope", "memcached", 2.5)
    assert caught.value.hint == "name the file that has them"
