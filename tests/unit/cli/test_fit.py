from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.needs import need
from tests.unit.model.synthetic import TRUTH, published_cells, study_of

from bayop.cli import main
from bayop.study import write_study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "made_up.csv"
    write_study(study_of(published_cells(noise=0.01)), path)
    return path


def events(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    captured = capsys.readouterr()
    assert captured.err == ""
    return [json.loads(line) for line in captured.out.splitlines()]


def test_json_has_the_parameters_with_their_uncertainty(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(study), "--slo", "p99<1s", "--model", "published", "--json"]) == 0
    lines = events(capsys)
    assert lines[0]["event"] == "cells"
    assert lines[0]["cells"] == 90
    parameters = {e["load_qps"]: e["parameters"] for e in lines if e["event"] == "parameters"}
    for load, truth in TRUTH.items():
        zeta = parameters[load]["zeta"]
        assert zeta["low"] < zeta["value"] < zeta["high"]
        assert abs(zeta["value"] - truth.zeta) < 5.0 * zeta["standard_error"]
    assert {e["quantity"] for e in lines if e["event"] == "errors"} == {"p99_us", "energy_per_interrupt_j"}


def test_prints_tables_and_writes_figures(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--os", "linux", "--load", "200kqps", "--out", str(tmp_path / "fits")]
    assert main(["fit", str(data / "study_memcached.csv"), *flags]) == 0
    output = capsys.readouterr().out
    for part in ("linux: 98 settings", "published model", "grey-box model", "95 % of bootstrap", "new setting"):
        assert part in output
    assert {path.name for path in (tmp_path / "fits").iterdir()} == {
        f"model_linux_{model}.{ending}" for model in ("published", "grey_box") for ending in ("svg", "png")
    }


@pytest.mark.slow
def test_adam_and_least_squares_print_the_same(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    need("torch")
    values = []
    for method in ("adam", "least-squares"):
        argv = ["fit", str(study), "--load", "200kqps", "--model", "published", "--method", method, "--json"]
        assert main(argv) == 0
        values.append([p["value"] for e in events(capsys) for p in e.get("parameters", {}).values()])
    assert values[0] == pytest.approx(values[1], rel=1e-4)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--method", "adam", "--model", "grey-box"], "--method"),
        (["--os", "plan9"], "the study has no trials of plan9 (--os)"),
        (["--load", "1qps"], "the study has no trials at 1 requests/s (--load)"),
        (["--min-delay=-5us"], "cannot use '-5us': a delay must not be negative (--min-delay)"),
        (["--min-delay", "1s"], "no trial that meets p99<500us has an ITR-delay of 1s or more (--min-delay)"),
        (["--slo", "p99<1us"], "no trial with a fixed ITR-delay and frequency meets p99<1us (--slo)"),
        (["--slo", "p99<1us", "--min-delay", "1s"], "no trial with a fixed ITR-delay and frequency meets p99<1us"),
        (["--slo", "p50<1ms"], "p50_us"),
    ],
)
def test_refuses_with_one_error(
    study: Path, flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", str(study), *flags]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_what_a_flag_leaves_nothing_of_is_hinted_at(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for flags, hint in (
        (["--min-delay", "1s"], "their longest is 400us"),
        (["--slo", "p99<1us"], "their least p99_us is"),
    ):
        assert main(["fit", str(study), *flags]) == 2
        assert f"hint: {hint}" in capsys.readouterr().err
