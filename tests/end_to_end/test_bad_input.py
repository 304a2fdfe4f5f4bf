"""Bad input of every kind: exit code 2, one clear message, for programs on stdout too, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.studies import COLUMNS, study_rows, write_study

from bayop.cli import main


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_study(tmp_path / "study.csv")


def tune(study: Path, *more: str) -> list[str]:
    """A good command, whose flags the later ones override; of SLOs, all count."""
    base = ["tune", "--target", "study", "--data", str(study), "--load", "1000", "--json", "--optimizer", "grid"]
    return [*base, *([] if "--slo" in more else ["--slo", "p99<500us"]), *more]


def test_the_command_that_all_others_vary_is_good(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(tune(study)) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [e["event"] for e in events] == ["start", *["trial"] * 15, "result"]


@pytest.mark.parametrize(
    ("more", "message", "hint"),
    [
        (["--slo", "fast"], "cannot use 'fast': an SLO must be a latency quantile and a limit (--slo)", "p99<500us"),
        (
            ["--slo", "p99<500"],
            "cannot use 'p99<500': the limit of an SLO must be a time with its unit (--slo)",
            "p99<500us",
        ),
        (["--slo", "p99<500W"], "cannot use 'p99<500W': the limit of an SLO must be a time with its unit", "p99<500us"),
        (["--slo", "p90<500us"], "the target does not measure p90_us, which the SLO names\n", "p99_us"),
        (["--load", "5000"], "the study has no trials at 5000 qps", "its loads are 1000 qps"),
        (["--load", "0"], "cannot use '0': a load must lie between 0.001 and 1e+09 requests/s (--load)\n", None),
        (["--load", "-5"], "cannot use '-5': a load must lie between 0.001 and 1e+09 requests/s (--load)\n", None),
        (["--load", "nan"], "cannot use 'nan': a quantity must be a number and a unit such as 50qps (--load)\n", None),
        (["--load", "600kg"], "there is no unit 'kg' (--load)\n", "kqps"),
        (["--load", "5us"], "cannot use '5us': it must be a rate (--load)\n", "write it in qps"),
        (["--os", "bsd"], "the study has no trials of bsd", "it has linux"),
        (
            ["--max-trials", "0"],
            "cannot use '0': it must be a whole number from 1 to 1000000000 (--max-trials)\n",
            None,
        ),
        (["--max-trials", "few"], "cannot use 'few': it must be a whole number (--max-trials)\n", None),
        (["--seed", "-1"], "cannot use '-1': it must be a whole number from 0 to 4294967295 (--seed)\n", None),
        (["--only", "nic.rx_usec"], "there is no knob 'nic.rx_usec' here (--only)\n", "did you mean nic.rx_usecs?"),
        (["--only", "nic.rx_usecs"], "would leave cpu.freq_mhz to the operating system\n", "use another target"),
        (["--objective", "pwoer"], "cannot use 'pwoer': an objective must be a name or an expression", "names: power"),
        (["--objective", "power_w * watts"], "there is no quantity 'watts' (objective, column 11)\n", "power_w"),
        (["--objective", "log2(power_w)"], "there is no function 'log2' (objective, column 1)\n", "log"),
        (
            ["--objective", "power_w + p99_us"],
            "the two sides of '+' must have the same dimension (objective, column 9)\n",
            None,
        ),
        (["--objective", "__import__('os').system('x')"], 'cannot use "\'": every character must have a meaning', None),
        (
            ["--objective", "interrupts_per_s"],
            "the target does not measure interrupts_per_s, which the objective names (--objective)\n",
            "power_w",
        ),
        (["--data", "nowhere.csv"], "cannot read nowhere.csv: no such file\n", None),
        (["--data", "."], "cannot read .: is a directory\n", None),
        (["--optimizer", "magic"], "cannot use 'magic': it must be one of grey-box", "see bayop tune --help"),
        (["--frequency", "3"], "'--frequency' is no argument of bayop tune\n", "see bayop tune --help"),
        (["--max-trial", "3"], "'--max-trial' is no argument of bayop tune\n", "did you mean --max-trials?"),
        (
            ["--load", "1e300"],
            "cannot use '1e300': a load must lie between 0.001 and 1e+09 requests/s (--load)\n",
            None,
        ),
        (["--seed", "9" * 99], "9': it must be a whole number from 0 to 4294967295 (--seed)\n", None),
        (["--data", ""], "cannot use '': a path must not be empty (--data)\n", None),
        (["--profile", "linux-silo"], "--profile is for a twin, and the target is study\n", "add --target twin"),
        (["--target", "twin"], "--data is for a study, and the target is twin\n", "add --target study"),
        (["--with-auto"], "has no knob that can be left to the operating system (--with-auto)\n", "the twin"),
        (["--with-auto", "--only", "nic.rx_usecs"], "--only: not allowed with argument --with-auto\n", "--help"),
    ],
)
def test_bad_usage(
    study: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str, hint: str | None
) -> None:
    check_refusal(tune(study, *more), capsys, message, hint)


@pytest.mark.parametrize(
    ("change", "message", "column"),
    [
        ({"p99_us": "nan"}, "cannot use 'nan': p99_us must be a finite number", "p99_us"),
        ({"freq_ghz": "2900"}, "cannot use 2900.0: freq_ghz must be in GHz and lie between 0.1 and 10", "freq_ghz"),
        ({"p99_us": "0.3"}, "cannot use 0.3: p99_us must be at least as long as the quantiles below it", "p99_us"),
        ({"policy": "magic"}, "cannot use 'magic': policy must be static or default", "policy"),
    ],
)
def test_bad_data(
    study: Path, capsys: pytest.CaptureFixture[str], change: dict[str, str], message: str, column: str
) -> None:
    rows = study_rows()
    write_study(study, [*rows[:3], rows[3] | change, *rows[4:]])
    check_refusal(tune(study), capsys, f"{message} ({study}, line 5, column {column})\n", None)


def test_a_missing_column(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_study(study, columns=[c for c in COLUMNS if c != "power_w"])
    check_refusal(tune(study), capsys, "there is no column power_w; a study must have the columns", "the file has")


REQUIRED = "the following arguments are required: "
ADDRESS = "cannot use 'web1': an agent's address must be a Unix socket or an https host (--agent)"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tune --target study --load 1k --data nope.csv", "cannot read nope.csv: no such file"),
        ("tune --target study --load 1k", "--data is missing; a study target must have a file"),
        ("tune --target study", "--load is missing; a study must have an offered load"),
        ("demo --seed x", "cannot use 'x': it must be a whole number (--seed)"),
        ("demo --bogus", "'--bogus' is no argument of bayop demo"),
        ("doctor --root nope", "cannot read nope: no such file (--root)"),
        ("doctor --values 5W", "cannot use '5W': it must be a time (--values)"),
        ("doctor --bogus", "'--bogus' is no argument of bayop doctor"),
        ("init --root nope", "cannot read nope: no such file (--root)"),
        ("init --bogus", "'--bogus' is no argument of bayop init"),
        ("status --agent web1", ADDRESS),
        ("status --bogus", "'--bogus' is no argument of bayop status"),
        ("restore --agent web1", ADDRESS),
        (
            "restore --agent-ca x --agent unix:/y",
            "--agent-cert is missing; mutual TLS must have --agent-cert, --agent-key and --agent-ca",
        ),
        ("knobs --agent web1", ADDRESS),
        ("knobs --agent-ca x", "--agent-ca is for an agent, and none is named"),
        ("live --slo fast", "cannot use 'fast': an SLO must be a latency quantile and a limit (--slo)"),
        ("live --bogus", "'--bogus' is no argument of bayop live"),
        ("load -s x:1 -q 5W", "cannot use '5W': it must be a rate (--qps)"),
        ("load -s x:1 --scan 3", "cannot use '3': a scan must be MIN:MAX:STEP (--scan)"),
        ("load -q 5k", "no server is named (--server)"),
        ("load -s x:1 --replay nope.csv", "cannot read nope.csv: no such file"),
        ("load --bogus", "'--bogus' is no argument of bayop load"),
        ("probe ftp://x", "there is no protocol 'ftp' (URL)"),
        ("probe redis://h --bogus", "'--bogus' is no argument of bayop probe"),
        ("twin run --load 5W", "cannot use '5W': it must be a rate (--load)"),
        ("twin run --load 5k --profile nope.toml", "cannot read nope.toml: no such file"),
        ("twin run --load 5k --profile nope", "there is no profile 'nope'"),
        ("twin run --load 5k --bogus", "'--bogus' is no argument of bayop twin run"),
        ("twin validate --data nope.csv", "cannot read nope.csv: no such file"),
        ("twin fit --data nope.csv --profile linux-memcached --out x.toml", "cannot read nope.csv: no such file"),
        ("twin fit --data nope.csv", REQUIRED + "--profile, --out"),
        ("sweep --target study --data nope.csv --load 5k --out x.parquet", "cannot read nope.csv: no such file"),
        (
            "sweep --target twin --load x",
            "cannot use 'x': a quantity must be a number and a unit such as 50qps (--load)",
        ),
        ("sweep --bogus", "'--bogus' is no argument of bayop sweep"),
        ("study show nope.csv", "cannot read nope.csv: no such file"),
        ("study show --bogus", REQUIRED + "FILE"),
        ("study merge nope.csv --out x.csv", "cannot read nope.csv: no such file"),
        ("study import nope.csv --out x.csv", "cannot read nope.csv: no such file"),
        ("report nope.csv", "cannot read nope.csv: no such file"),
        (
            "report example:memcached --slo fast",
            "cannot use 'fast': an SLO must be a latency quantile and a limit (--slo)",
        ),
        ("fit nope.csv", "cannot read nope.csv: no such file"),
        ("fit example:memcached --bogus", "'--bogus' is no argument of bayop fit"),
        ("interrupts show nope.log", "cannot read nope.log: no such file"),
        ("interrupts show --bogus x", "'--bogus' is no argument of bayop interrupts show"),
        ("carbon nope.toml", "cannot read nope.toml: no such file"),
        ("carbon --bogus x", "'--bogus' is no argument of bayop carbon"),
        ("config --bogus", "'--bogus' is no argument of bayop config"),
        ("completion --bogus bash", "'--bogus' is no argument of bayop completion"),
        ("help nope", "there is no help on 'nope'; it must be a verb"),
        (
            "claims --data nope --only yawn-p99",
            "there is no yawn_by_rate.csv; the folder of measurements must hold the published files (nope)",
        ),
        ("claims --only x", "there is no claim 'x' (--only)"),
        ("claims --bogus", "'--bogus' is no argument of bayop claims"),
    ],
)
def test_what_each_verb_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    check_refusal(line.split(), capsys, f"error: {message}\n", None)
    assert not list(tmp_path.iterdir()), "nothing is written"


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
        assert "No setting is trusted to meet p99" in captured.out


def check_refusal(argv: list[str], capsys: pytest.CaptureFixture[str], message: str, hint: str | None) -> None:
    assert main(argv) == 2
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    if "--json" in argv:
        event = json.loads(captured.out)
        assert event["event"] == "error"
        assert lines[0] == f"error: {event['message']}"
    else:
        assert captured.out == ""
    assert lines[0].startswith("error: ")
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert len(lines) <= 2, "an error takes two lines at most"
    if hint is not None:
        assert lines[1].startswith("hint: ")
        assert hint in lines[1]
