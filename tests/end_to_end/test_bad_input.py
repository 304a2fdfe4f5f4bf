"""Bad input of every kind: exit code 2, one clear message with its place, nothing on stdout, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayop.cli import main
from bayop.testing.studies import COLUMNS, study_rows, write_study


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_study(tmp_path / "study.csv")


def tune(study: Path, *more: str) -> list[str]:
    """A good command, whose flags the later ones override."""
    base = ["tune", "--target", "study", "--data", str(study), "--load", "1000", "--slo", "p99<500us", "--json"]
    return [*base, "--optimizer", "grid", *more]


def test_the_command_that_all_others_vary_is_good(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(tune(study)) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [e["event"] for e in events] == ["start", *["trial"] * 15, "result"]


@pytest.mark.parametrize(
    ("more", "said", "hint"),
    [
        (["--slo", "fast"], "--slo: an SLO is a latency quantile and a limit, but got 'fast'", "p99<500us"),
        (["--slo", "p99<500"], "--slo: the SLO 'p99<500' needs a time as its limit: the unit is missing", "p99<500us"),
        (["--slo", "p99<500W"], "--slo: the SLO 'p99<500W' needs a time as its limit", "p99<500us"),
        (["--slo", "p90<500us"], "SLO: the target measures what the SLO names, but got 'p90_us'", "p99_us"),
        (["--load", "5000"], "the study has trials at this load, but got '5000 qps'", "its loads are 1000 qps"),
        (["--load", "0"], "--load: a load lies between 0.001 and 1e+09 requests/s, but got '0'", None),
        (["--load", "-5"], "--load: a load lies between 0.001 and 1e+09 requests/s, but got '-5'", None),
        (["--load", "nan"], "--load: a quantity is a number and a unit such as 50qps, but got 'nan'", None),
        (["--load", "600k"], "--load: the unit is unknown, but got 'k'", "kqps"),
        (["--load", "5us"], "--load: a rate is expected here, but got '5us'", "write it in qps"),
        (["--os", "bsd"], "the study has trials of this os, but got 'bsd'", "it has linux"),
        (["--max-trials", "0"], "--max-trials: a whole number from 1 to 1000000000 is expected, but got '0'", None),
        (["--max-trials", "few"], "--max-trials: a whole number is expected, but got 'few'", None),
        (["--seed", "-1"], "--seed: a whole number from 0 to 4294967295 is expected, but got '-1'", None),
        (
            ["--only", "nic.rx_usec"],
            "--only: the knob is unknown here, but got 'nic.rx_usec'",
            "did you mean nic.rx_usecs?",
        ),
        (["--only", "nic.rx_usecs"], "leaves cpu.freq_mhz to the operating system", "use another target"),
        (["--objective", "pwoer"], "an objective is a name or an expression, but got 'pwoer'", "names: power"),
        (["--objective", "power_w * watts"], "column 11: the quantity is unknown, but got 'watts'", "power_w"),
        (["--objective", "power_w + p99_us"], "column 9: the two sides of '+' must have the same dimension", None),
        (["--objective", "__import__('os').system('x')"], "objective, column 12: this character has no meaning", None),
        (["--objective", "interrupts_per_s"], "objective: the target measures what the objective names", "power_w"),
        (["--data", "nowhere.csv"], "the study can be read, but got 'nowhere.csv'", "No such file"),
        (["--data", "."], "the study can be read", "Is a directory"),
        (["--optimizer", "magic"], "invalid choice: 'magic'", "see bayop tune --help"),
        (["--frequency", "3"], "bayop tune: the argument is unknown, but got '--frequency'", "see bayop tune --help"),
        (["--max-trial", "3"], "bayop tune: the argument is unknown, but got '--max-trial'", "--max-trials?"),
        (["--load", "1e300"], "--load: a load lies between 0.001 and 1e+09 requests/s, but got '1e300'", None),
        (["--seed", "9" * 99], "--seed: a whole number from 0 to 4294967295 is expected", None),
        (["--data", ""], "--data: a path is not empty", None),
        (["--profile", "linux-silo"], "--profile: only a twin has this flag", "add --target twin"),
        (["--target", "twin"], "--data: only a study has this flag", "add --target study"),
        (["--with-auto"], "--with-auto: the target has a knob that can be left to the operating system", "the twin"),
        (["--with-auto", "--only", "nic.rx_usecs"], "--only: not allowed with argument --with-auto", "--help"),
    ],
)
def test_bad_usage(
    study: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str, hint: str | None
) -> None:
    check_refusal(tune(study, *more), capsys, said, hint)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"p99_us": "nan"}, "line 5, column p99_us: p99_us is a finite number, but got 'nan'"),
        ({"freq_ghz": "2900"}, "line 5, column freq_ghz: freq_ghz is in GHz and lies between 0.1 and 10"),
        ({"p99_us": "0.3"}, "line 5, column p99_us: p99_us is at least as long as the quantiles below it"),
        ({"policy": "magic"}, "line 5, column policy: policy is static or default, but got 'magic'"),
    ],
)
def test_bad_data(study: Path, capsys: pytest.CaptureFixture[str], change: dict[str, str], said: str) -> None:
    rows = study_rows()
    write_study(study, [*rows[:3], rows[3] | change, *rows[4:]])
    check_refusal(tune(study), capsys, f"{study}, {said}", None)


def test_a_missing_column(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_study(study, columns=[c for c in COLUMNS if c != "power_w"])
    check_refusal(tune(study), capsys, f"{study}, line 1: a study has the columns", "the file has")


def test_no_study_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    check_refusal(
        ["tune", "--target", "study", "--load", "1000"], capsys, "--data: a study target needs its file", "FILE"
    )


@pytest.mark.parametrize("optimizer", ["grey-box", "random", "grid"])
@pytest.mark.parametrize("json_flag", [True, False])
def test_an_slo_that_nothing_meets_is_no_error_but_no_success(
    study: Path, capsys: pytest.CaptureFixture[str], *, json_flag: bool, optimizer: str
) -> None:
    argv = tune(study, "--slo", "p99<1us", "--optimizer", optimizer)
    if not json_flag:
        argv.remove("--json")
    assert main(argv) == 1
    captured = capsys.readouterr()
    assert captured.err == ""
    if json_flag:
        result = json.loads(captured.out.splitlines()[-1])
        assert result["event"] == "result"
        assert result["setting"] is None
    else:
        assert "the default is applied" in captured.out


def check_refusal(argv: list[str], capsys: pytest.CaptureFixture[str], said: str, hint: str | None) -> None:
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert len(captured.err.splitlines()) <= 2, "an error takes two lines at most"
    if hint is not None:
        assert captured.err.splitlines()[1].startswith("hint: ")
        assert hint in captured.err.splitlines()[1]
