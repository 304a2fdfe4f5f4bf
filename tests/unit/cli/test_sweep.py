from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from bayop.cli import build_parser, main
from bayop.cli.sweep_flags import repeats_of, settings_of
from bayop.space import AUTO, Space, Steps, nic_and_cpu_space
from bayop.study.sweep.repeats import Repeats

SPACE = nic_and_cpu_space(Steps(2, 1022, 2), Steps(1200, 2900, 100), auto=True)
TWIN = ["sweep", "--load", "600kqps"]
NETPIPE = ["--profile", "linux-netpipe"]


def settings(*flags: str, space: Space = SPACE) -> list[tuple[float | str, ...]]:
    arguments = [*TWIN, *flags]
    found = settings_of(space, build_parser(arguments).parse_args(arguments), seed=0)
    return [tuple(setting.values()) for setting in found]


def repeats(*flags: str) -> Repeats:
    arguments = [*TWIN, *flags]
    return repeats_of(build_parser(arguments).parse_args(arguments), frozenset({"power_w", "p99_us"}))


def test_the_default_comes_first_unless_it_is_not_wanted() -> None:
    assert settings("--points", "2") == [(AUTO, AUTO), (2, 1200), (2, 2900), (1022, 1200), (1022, 2900)]
    assert settings("--points", "2", "--no-default") == [(2, 1200), (2, 2900), (1022, 1200), (1022, 2900)]
    assert len(settings()) == 1 + 12 * 12


def test_one_knob_alone_leaves_the_other_to_the_system() -> None:
    assert settings("--only", "cpu.freq_mhz", "--points", "2") == [(AUTO, AUTO), (AUTO, 1200), (AUTO, 2900)]


def test_auto_is_among_the_values_where_that_is_asked_for() -> None:
    found = settings("--with-auto", "--range", "nic.rx_usecs=50,100us", "--range", "cpu.freq_mhz=1.3GHz")
    assert found == [(AUTO, AUTO), (50, 1300), (50, AUTO), (100, 1300), (100, AUTO), (AUTO, 1300)]


def test_a_filling_design_has_as_many_settings_as_were_asked_for() -> None:
    found = settings("--design", "sobol", "--settings", "20")
    assert len(set(found)) == 21
    assert found[0] == (AUTO, AUTO)


def test_repeats() -> None:
    assert repeats() == Repeats(1, 1)
    assert repeats("--repeats", "4") == Repeats(4, 4)
    assert repeats("--until-ci", "2%") == Repeats(3, 30, "p99_us", 0.02)
    flags = ["--until-ci", "0.5%", "--ci-of", "power_w", "--repeats", "5", "--most-repeats", "9"]
    assert repeats(*flags) == Repeats(5, 9, "power_w", 0.005)
    assert repeats("--until-ci", "2%", "--repeats", "50") == Repeats(50, 50, "p99_us", 0.02)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--load", "600kqps", "--design", "sobol"], "--settings: a filling design has a number of settings"),
        (["--load", "600kqps", "--settings", "9"], "--settings: only a filling design has a number of settings"),
        (["--load", "600kqps", "--design", "sobol", "--settings", "9999"], "--settings: a design has at least one"),
        (["--load", "600kqps", "--points", "0"], "--points: a whole number"),
        (["--load", "600kqps", "--range", "nic.rx_usecs=0:1ms:100us"], "nic.rx_usecs takes 2us to 1022us"),
        (["--load", "600kqps", "--range", "nic.rx_usecs=3"], "--range: nic.rx_usecs takes 2us to 1022us"),
        (["--load", "600kqps", "--range", "nic.rx_usecs="], "--range: a range is KNOB=LOW:HIGH[:STEP]"),
        (["--load", "600kqps", "--range", "nic.rx_usec=2"], "--range: the knob is unknown here"),
        (["--load", "600kqps", "--range", "cpu.freq_mhz=2GHz", "--range", "cpu.freq_mhz=2100"], "a knob has one range"),
        (["--load", "600kqps", "--only", "cpu.freq"], "--only: the knob is unknown here"),
        (["--load", "600kqps", "--only", "cpu.freq_mhz", "--with-auto"], "not allowed with"),
        (["--load", "600kqps", "--until-ci", "0"], "--until-ci: a half-width is a share above 0"),
        (["--load", "600kqps", "--ci-of", "power_w"], "--ci-of: only repeats until a precision have this flag"),
        (["--load", "600kqps", "--until-ci", "2%", "--ci-of", "power"], "--ci-of: the target measures what has"),
        (["--load", "600kqps", "--until-ci", "2%", "--repeats", "9", "--most-repeats", "5"], "--most-repeats"),
        (["--load", "600kqps", "--processes", "0"], "--processes: a whole number"),
        (["--load", "600kqps", "--processes", "2", "--ray", "auto"], "not allowed with"),
        (["--load", "600kqps", "--out", "sweep.txt"], "--out: a study is written as .parquet, .csv or .csv.gz"),
        (["--load", "600kqps", "--out", "nowhere/sweep.csv"], "nowhere/sweep.csv"),
        (["--load", "600kqps", "--latency", "./p99.sh"], "--latency: only an agent has this flag"),
        (["--load", "600kqps,600kqps"], "each once"),
        (["--load", "600k"], "--load: the unit is unknown"),
        (["--load", "600kqps,64KB"], "--load: the load of memcached on Linux is a number of requests/s, but got 65536"),
        ([*NETPIPE, "--load", "600kqps"], "--load: the load of netpipe on Linux is a message size in bytes"),
        ([*NETPIPE, "--load", "64B,600kqps"], "--load: the load of netpipe on Linux is a message size in bytes"),
        ([*NETPIPE, "--load", "64.5B"], "--load: a message has a whole number of bytes"),
        ([*NETPIPE, "--load", "64KB,65536B"], "each once"),
        ([*NETPIPE, "--load", "64B", "--window", "1s"], "--window: a window of a closed loop is 5000 round trips"),
        (["--target", "agent:unix:/run/none.sock", "--load", "64B"], "--load: the load of this target is a number of"),
        ([], "--load: a twin needs its offered load"),
        (["--target", "study", "--load", "600kqps"], "--data: a study target needs its file"),
        (["--target", "study", "--load", "600kqps", "--ray", "auto"], "--ray: only a twin has this flag"),
        (["--target", "study", "--load", "600kqps", "--window", "1s"], "--window: only a twin or an agent"),
        (["--target", "live.toml", "--processes", "2"], "--processes: only a target that one process does not own"),
        (["--target", "live.toml", "--ray", "auto"], "--ray: only a twin has this flag"),
        (
            ["--target", "agent:unix:/run/none.sock", "--load", "1kqps,2kqps"],
            "--load: a live machine is under one load",
        ),
        (["--target", "agent:unix:/run/none.sock"], "--latency: a live machine needs a source of latency"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_flags_that_make_no_sense_are_refused_before_anything_is_measured(
    flags: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *flags]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert len(captured.err.splitlines()) <= 2
    assert not list(tmp_path.iterdir())


def test_a_closed_loop_is_swept_over_its_message_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "netpipe.parquet"
    ranges = ["--range", "nic.rx_usecs=2,18,42", "--range", "cpu.freq_mhz=1.3GHz"]
    flags = [*NETPIPE, "--load", "64B,64KB", *ranges, "--processes", "1", "--json", "--out", str(out)]
    assert main(["sweep", *flags]) == 0
    trials = [event for line in capsys.readouterr().out.splitlines() if (event := json.loads(line))["event"] == "trial"]
    assert sorted(trial["message_bytes"] for trial in trials) == [64] * 4 + [65536] * 4
    assert all("qps_offered" not in trial and trial["measured"]["roundtrip_us"] > 0 for trial in trials)
    frame = pl.read_parquet(out)
    assert frame.schema["message_bytes"] == pl.Int64
    assert "qps_offered" not in frame.columns
    assert {"roundtrip_us", "goodput_mibit_s", "instructions"} <= set(frame.columns)
    # The papers' V: a middling delay is best for large messages, in time and in energy.
    large = frame.filter(pl.col("message_bytes") == 65536, pl.col("asked.nic.rx_usecs").is_not_null())
    for quantity in ("roundtrip_us", "energy_j"):
        short, middle, long = large.sort("asked.nic.rx_usecs")[quantity]
        assert middle < short
        assert middle < long
