from __future__ import annotations

import json
from pathlib import Path

import pytest

from bayop.cli import main


@pytest.fixture
def published(data: Path) -> str:
    return str(data / "systor_cci.csv")


def test_prints_both_readings_and_where_they_part(published: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["carbon", published]) == 0
    said = capsys.readouterr().out
    for part in ("linux on node1 (reused)", "0.3348", "662.2", "server's part", "2.7 uJ/byte", "0.0770 mg/J"):
        assert part in said


def test_json_has_a_line_for_each_stack(published: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["carbon", published, "--lifetime", "3y", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 6
    new = lines[2]
    assert (new["stack"], new["charged_kg"], new["reused"]) == ("linux on node3", 221.9, False)
    assert new["cci_without_network_mg_per_request"] == pytest.approx(1.2866e-05, rel=1e-4)
    assert new["ratio_as_published"] == pytest.approx(7.415, abs=1e-3)


STACK = """\
name = "{name}"
app = "memcached"
[work]
qps = "1Mqps"
power = "{power}"
[embodied_kg]
{component} = 15.1
"""


def own(folder: Path, name: str, power: str = "90W", component: str = "cpu") -> str:
    path = folder / f"{name}.toml"
    path.write_text(STACK.format(name=name, power=power, component=component), encoding="utf-8")
    return str(path)


def test_nobody_published_anything_of_ones_own_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = [own(tmp_path, "old"), own(tmp_path, "new", "60W")]
    assert main(["carbon", *mine]) == 0
    said = capsys.readouterr().out
    assert "memcached: without the network\n" in said
    assert "publish" not in said
    assert main(["carbon", *mine, "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(e["cci_as_published_mg_per_request"], e["ratio_as_published"]) for e in events] == [(None, None)] * 2


def test_ones_own_machine_beside_published_ones(
    published: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["carbon", published, own(tmp_path, "mine")]) == 0
    said = capsys.readouterr().out
    assert "published: mg per request by the authors' arithmetic" in said
    of_mine = [line.split() for line in said.splitlines() if line.split()[:1] == ["mine"]]
    assert of_mine[-1] == ["mine", "7.028", "3.06"], "what nobody published stays empty"


def test_a_part_s_other_name_is_understood(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["carbon", own(tmp_path, "new", component="motherboard")]) == 2
    assert "hint: did you mean mainboard?\n" in capsys.readouterr().err


def test_a_series_counts_by_its_mean(published: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    series = tmp_path / "grid.csv"
    series.write_text("hour,gco2_per_kwh\n0,20\n1,50\n", encoding="utf-8")
    outputs = []
    for grid in (["--grid-series", str(series)], ["--grid", "35g/kWh"]):
        assert main(["carbon", published, *grid, "--json"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_writes_figures(published: str, tmp_path: Path) -> None:
    assert main(["carbon", published, "--out", str(tmp_path)]) == 0
    assert {path.stem for path in tmp_path.iterdir()} == {
        "carbon_sources", "carbon_months_memcached", "carbon_months_silo",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--grid", "dirty"], "--grid"),
        (["--grid", "35"], "cannot use '35': a grid's carbon intensity must be a number with the unit g/kWh (--grid)"),
        (["--grid", "35kg/kWh"], "a grid's carbon intensity must be a number with the unit g/kWh (--grid)"),
        (
            ["--grid", "1e9g/kWh"],
            "cannot use '1e9g/kWh': a grid's carbon intensity must lie between 0 and 5000 g CO2e/kWh (--grid)",
        ),
        (["--grid=-1g/kWh"], "cannot use '-1g/kWh': a grid's carbon intensity must lie between 0 and 5000 g CO2e/kWh"),
        (
            ["--grid", "0g/kWh"],
            "the carbon intensity is 0 in every hour; a grid must emit something, in some hour at least",
        ),
        (
            ["--lifetime", "3"],
            "cannot use '3': a lifetime must be a number with the unit y (--lifetime)\nhint: such as 3y",
        ),
        (["--lifetime", "0y"], "cannot use '0y': a lifetime must be positive and at most 50 years (--lifetime)"),
        (["--grid", "35g/kWh", "--grid-series", "x.csv"], "not allowed with"),
        (["--grid-series", "none.csv"], "cannot read none.csv: no such file"),
    ],
)
def test_refuses_with_one_error(
    published: str, flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["carbon", published, *flags]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert said in captured.err


def test_refuses_two_stacks_of_one_name(published: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["carbon", published, published]) == 2
    assert (
        "cannot use 'linux on node1': the stacks of an application must have different names (memcached)"
        in capsys.readouterr().err
    )
