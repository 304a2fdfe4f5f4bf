from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from bayop.cli import main
from bayop.cli.parser import build_parser
from bayop.cli.sweep.flags import repeats_of, settings_of
from bayop.domains import Steps
from bayop.experiments.sweep.repeats import Repeats
from bayop.space import AUTO, Space
from bayop.testing.fakes import nic_and_cpu_space

SPACE = nic_and_cpu_space(Steps(2, 1022, 2), Steps(1200, 2900, 100), auto=True)
TWIN = ["sweep", "--load", "600kqps"]
NETPIPE = ["--profile", "linux-netpipe"]


def settings(*flags: str, space: Space = SPACE) -> list[tuple[float | str, ...]]:
    arguments = [*TWIN, *flags]
    design = settings_of(space, build_parser(arguments).parse_args(arguments), seed=0)
    return [tuple(setting.values()) for setting in design]


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
    design = settings("--with-auto", "--range", "nic.rx_usecs=50,100us", "--range", "cpu.freq_mhz=1.3GHz")
    assert design == [(AUTO, AUTO), (50, 1300), (50, AUTO), (100, 1300), (100, AUTO), (AUTO, 1300)]


def test_a_filling_design_has_as_many_settings_as_were_asked_for() -> None:
    design = settings("--design", "sobol", "--settings", "20")
    assert len(set(design)) == 21
    assert design[0] == (AUTO, AUTO)


def test_repeats() -> None:
    assert repeats() == Repeats(1, 1)
    assert repeats("--repeats", "4") == Repeats(4, 4)
    assert repeats("--until-ci", "2%") == Repeats(3, 30, "p99_us", 0.02)
    flags = ["--until-ci", "0.5%", "--ci-of", "power_w", "--repeats", "5", "--most-repeats", "9"]
    assert repeats(*flags) == Repeats(5, 9, "power_w", 0.005)
    assert repeats("--until-ci", "2%", "--repeats", "50") == Repeats(50, 50, "p99_us", 0.02)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--load", "600kqps", "--design", "sobol"],
            "--settings is missing; a filling design must have a number of settings",
        ),
        (
            ["--load", "600kqps", "--settings", "9"],
            "--settings is for a filling design, and --design is another",
        ),
        (
            ["--load", "600kqps", "--design", "sobol", "--settings", "9999"],
            "cannot use 9999: a design must have at least one setting and at most the space's 9198 (--settings)",
        ),
        (
            ["--load", "600kqps", "--points", "0"],
            "cannot use '0': it must be a whole number from 1 to 1000000000 (--points)",
        ),
        (
            ["--load", "600kqps", "--range", "nic.rx_usecs=0:1ms:100us"],
            "cannot use '0:1000:100': nic.rx_usecs must be 2us to 1022us in steps of 2us, or auto (--range)",
        ),
        (
            ["--load", "600kqps", "--range", "nic.rx_usecs=3"],
            "cannot use 3.0: nic.rx_usecs must be 2us to 1022us in steps of 2us, or auto (--range)",
        ),
        (
            ["--load", "600kqps", "--range", "nic.rx_usecs="],
            "cannot use 'nic.rx_usecs=': a range must be KNOB=LOW:HIGH[:STEP] or KNOB=VALUE,... (--range)",
        ),
        (["--load", "600kqps", "--range", "nic.rx_usec=2"], "there is no knob 'nic.rx_usec' here (--range)"),
        (
            ["--load", "600kqps", "--range", "cpu.freq_mhz=2GHz", "--range", "cpu.freq_mhz=2100"],
            "a knob must have one range",
        ),
        (["--load", "600kqps", "--only", "cpu.freq"], "there is no knob 'cpu.freq' here (--only)"),
        (["--load", "600kqps", "--only", "cpu.freq_mhz", "--with-auto"], "not allowed with"),
        (
            ["--load", "600kqps", "--until-ci", "0"],
            "cannot use '0': a half-width must be a share above 0 and below 1 (--until-ci)",
        ),
        (
            ["--load", "600kqps", "--ci-of", "power_w"],
            "--ci-of is for repeats until a precision, and none is asked for",
        ),
        (["--load", "600kqps", "--until-ci", "2%", "--ci-of", "power"], "the target does not measure power (--ci-of)"),
        (["--load", "600kqps", "--until-ci", "2%", "--repeats", "9", "--most-repeats", "5"], "--most-repeats"),
        (
            ["--load", "600kqps", "--processes", "0"],
            "cannot use '0': it must be a whole number from 1 to 1024 (--processes)",
        ),
        (["--load", "600kqps", "--processes", "2", "--ray", "auto"], "not allowed with"),
        (
            ["--load", "600kqps", "--out", "sweep.txt"],
            "cannot use 'sweep.txt': a study must be written as .parquet, .csv or .csv.gz (--out)",
        ),
        (["--load", "600kqps", "--out", "nowhere/sweep.csv"], "nowhere/sweep.csv"),
        (
            ["--load", "600kqps", "--latency", "./p99.sh"],
            "--latency is for an agent, and the target is twin",
        ),
        (["--load", "600kqps,600kqps"], "each once"),
        (["--load", "600kg"], "there is no unit 'kg' (--load)"),
        (
            ["--load", "600kqps,64KB"],
            "cannot use 65536: the load of memcached on Linux must be a number of requests/s (--load)",
        ),
        (
            [*NETPIPE, "--load", "600kqps"],
            "cannot use 600000.0: the load of netpipe on Linux must be a message size in bytes (--load)",
        ),
        (
            [*NETPIPE, "--load", "64B,600kqps"],
            "cannot use 600000.0: the load of netpipe on Linux must be a message size in bytes (--load)",
        ),
        (
            [*NETPIPE, "--load", "64.5B"],
            "cannot use '64.5B': a message must have a whole number of bytes, from 1B to 16MiB (--load)",
        ),
        ([*NETPIPE, "--load", "64KB,65536B"], "each once"),
        (
            [*NETPIPE, "--load", "64B", "--window", "1s"],
            "cannot use '1 s': a window of a closed loop must be 5000 round trips, however long they take (--window)",
        ),
        (
            ["--target", "agent:unix:/run/none.sock", "--load", "64B"],
            "cannot use '64 B': the load of this target must be a number of requests/s (--load)",
        ),
        ([], "--load is missing; a twin must have an offered load"),
        (["--target", "study", "--load", "600kqps"], "--data is missing; a study target must have a file"),
        (
            ["--target", "study", "--load", "600kqps", "--ray", "auto"],
            "--ray is for a twin, and the target is study",
        ),
        (
            ["--target", "study", "--load", "600kqps", "--window", "1s"],
            "--window is for a twin or an agent, and the target is study",
        ),
        (
            ["--target", "live.toml", "--processes", "2"],
            "--processes is for a target that one process does not own, and the target is live.toml",
        ),
        (["--target", "live.toml", "--ray", "auto"], "--ray is for a twin, and the target is live.toml"),
        (
            ["--target", "agent:unix:/run/none.sock", "--load", "1kqps,2kqps"],
            "2 loads were given; a live machine must be under one load (--load)",
        ),
        (
            ["--target", "agent:unix:/run/none.sock"],
            "--latency is missing; a live machine must have a source of latency",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_flags_that_make_no_sense_are_refused_before_anything_is_measured(
    flags: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["sweep", *flags]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert len(captured.err.splitlines()) <= 2
    assert not list(tmp_path.iterdir())


def test_a_knob_of_the_twin_is_swept_when_it_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "depth.parquet"
    ranges = ["--range", "idle.max_latency_us=0,109", "--only", "idle.max_latency_us"]
    flags = ["--load", "20kqps", "--window", "0.05", "--processes", "1", "--json", "--out", str(out)]
    assert main(["sweep", *flags, *ranges]) == 0
    capsys.readouterr()
    frame = pl.read_parquet(out).sort("asked.idle.max_latency_us", nulls_last=True)
    polling, deepest, default = frame["power_w"]
    assert frame["asked.idle.max_latency_us"].to_list() == [0, 109, None]
    assert polling > 1.5 * deepest
    assert deepest == pytest.approx(default, rel=0.05)


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
