from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.study import open_study, write_study
from bayop.study.journal import Journal
from bayop.study.trial import Origin, trial_row

ORIGIN = Origin("night", "twin", "fake", os="linux", app="memcached", vantage="model")


def row(trial: int, power_w: float = 50.0) -> dict[str, object]:
    return trial_row(
        ORIGIN,
        trial=trial,
        asked={"nic.rx_usecs": 0.1 + trial, "cpu.freq_mhz": "auto"},
        effective={},
        measurement=Measurement({"power_w": power_w / 3}, relative_sd={"power_w": 0.003}),
        qps=1000.0,
        started_at=datetime(2026, 11, 20, 9, 30, trial, 123456, tzinfo=UTC),
    )


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return tmp_path / "night.parquet"


def test_a_journal_becomes_its_study_and_goes(study: Path) -> None:
    with Journal(study) as journal:
        for trial in (1, 2, 3):
            journal.append(row(trial))
        assert not study.exists()
        assert journal.path.name == "night.parquet.journal"
        journal.finish()
    assert [p.name for p in study.parent.iterdir()] == ["night.parquet"]
    frame = open_study(study)
    assert frame["trial"].to_list() == [1, 2, 3]
    assert frame["started_at"][0] == datetime(2026, 11, 20, 9, 30, 1, 123456, tzinfo=UTC)
    assert frame["power_w"][0] == 50.0 / 3


def test_a_journal_is_taken_up_where_it_stopped(study: Path) -> None:
    with Journal(study) as journal:
        journal.append(row(1))
    with Journal(study) as journal:
        assert journal.rows() == [row(1)]
        assert journal.torn_bytes == 0
        journal.append(row(2))
        journal.finish()
    assert open_study(study)["trial"].to_list() == [1, 2]


@pytest.mark.slow
def test_cut_off_at_any_byte_it_loses_at_most_the_trial_in_flight(study: Path) -> None:
    with Journal(study) as journal:
        for trial in (1, 2):
            journal.append(row(trial))
    content = journal.path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    for size in range(len(content) + 1):
        journal.path.write_bytes(content[:size])
        whole = sum(end <= size for end in ends)
        with Journal(study) as cut:
            assert [r["trial"] for r in cut.rows()] == [1, 2][:whole]
            assert cut.torn_bytes == size - (ends[whole - 1] if whole else 0)
            cut.append(row(9))
        with Journal(study) as again:
            assert [r["trial"] for r in again.rows()] == [*[1, 2][:whole], 9]


def test_zeros_that_a_power_cut_left_at_the_end_are_dropped(study: Path) -> None:
    with Journal(study) as journal:
        journal.append(row(1))
    with journal.path.open("ab") as file:
        file.write(bytes(512))
    with Journal(study) as again:
        assert again.torn_bytes == 512
        assert again.rows() == [row(1)]


def test_a_process_that_is_killed_leaves_every_trial_that_it_had_ended(study: Path) -> None:
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_journal import Journal, row
with Journal(Path({str(study)!r})) as journal:
    for trial in range(1, 10_000):
        journal.append(row(trial % 50 + 50 * (trial // 50)) | {{"started_at": None}})
        print(trial, flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        numbers = [int(process.stdout.readline()) for _ in range(20)]
        process.send_signal(signal.SIGKILL)
        numbers += [int(line) for line in process.stdout if line.endswith("\n")]
    with Journal(study) as journal:
        trials = [r["trial"] for r in journal.rows()]
    assert trials[: len(numbers)] == numbers
    assert len(trials) <= len(numbers) + 1


def test_a_crash_between_the_study_and_the_journals_end_changes_nothing(study: Path) -> None:
    with Journal(study) as journal:
        journal.append(row(1))
        journal.append(row(2))
        content = journal.path.read_bytes()
        journal.finish()
    before = open_study(study)
    journal.path.write_bytes(content)
    with Journal(study) as again:
        again.append(row(3))
        again.finish()
    after = open_study(study)
    assert after["trial"].to_list() == [1, 2, 3]
    assert after.head(2).equals(before)


def test_trials_that_the_study_tells_differently_are_refused_and_both_stay(study: Path) -> None:
    with Journal(study) as journal:
        journal.append(row(1))
        journal.finish()
    with Journal(study) as other:
        other.append(row(1, power_w=99.0))
        with pytest.raises(InputError, match="agree on the trials that they share"):
            other.finish()
    assert other.path.exists()
    assert open_study(study)["power_w"].to_list() == [50.0 / 3]


def test_a_journal_has_one_writer(study: Path) -> None:
    with Journal(study), pytest.raises(InputError, match="a journal must have one writer"):
        Journal(study)
    with Journal(study):
        pass


def test_a_journal_without_trials_leaves_no_study(study: Path) -> None:
    with Journal(study) as journal:
        assert journal.frame() is None
        journal.finish()
    assert list(study.parent.iterdir()) == []


@pytest.mark.parametrize(
    "line",
    [
        b"{", b"[1]", b"\xff", b'{"trial": 1}', b'{"study": "s", "trial": "x", "target": "twin", "machine": "m"}',
        b'{"study": "s", "trial": 1, "target": "twin", "machine": "m", "power_w": NaN}',
        b'{"study": "s", "trial": 1, "target": "twin", "machine": "m", "p99_ms": 1}',
        b'{"study": "s", "trial": 1, "target": "twin", "machine": "m", "started_at": 5}',
        b'{"study": "s", "trial": 1, "target": "twin", "machine": "m", "started_at": "2026-11-20T09:30:00"}',
        b'{"study": ["s"], "trial": 1, "target": "twin", "machine": "m"}',
        b'{"study": "s", "trial": 1e30, "target": "twin", "machine": "m"}',
        b"[" * 20_000,
    ],
)  # fmt: skip
def test_a_line_that_is_no_trial_is_refused_with_its_number(study: Path, line: bytes) -> None:
    with Journal(study) as journal:
        journal.append(row(1))
    with journal.path.open("ab") as file:
        file.write(line + b"\n" + json.dumps({"trial": 2}).encode())
    with pytest.raises(InputError) as caught:
        Journal(study)
    assert str(caught.value.place).startswith(f"{journal.path}, line 2")


def test_a_row_that_is_no_trial_is_not_taken(study: Path) -> None:
    with Journal(study) as journal:
        with pytest.raises(InputError, match="trial 1, row 1, column power_w"):
            journal.append(row(1) | {"power_w": -3.0})
        assert journal.path.read_bytes() == b""
        journal.append(row(1))
        with pytest.raises(InputError, match="a study must have each trial once"):
            journal.append(row(1))
        assert journal.rows() == [row(1)]


def test_where_nothing_can_be_written_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*night\.parquet: no such file"):
        Journal(tmp_path / "no" / "night.parquet")
    with pytest.raises(InputError, match=r"written as \.parquet"):
        Journal(tmp_path / "night.txt")


def test_a_journal_next_to_csv_works_alike(tmp_path: Path) -> None:
    with Journal(tmp_path / "night.csv.gz") as journal:
        journal.append(row(1))
        journal.finish()
    assert open_study(tmp_path / "night.csv.gz").height == 1
    write_study(open_study(tmp_path / "night.csv.gz"), tmp_path / "night.csv")
    assert (tmp_path / "night.csv").stat().st_size > 0
