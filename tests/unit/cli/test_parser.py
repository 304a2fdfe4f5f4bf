from __future__ import annotations

import json

import pytest

from bayop.cli import main


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["twin", "run", "--load", "-5k"],
            "cannot use '-5k': a load must lie between 0.001 and 1e+09 requests/s (--load)",
        ),
        (["tune", "--seed", "-1"], "cannot use '-1': it must be a whole number from 0 to 4294967295 (--seed)"),
        (["tune", "--headroom", "-1%"], "cannot use '-1%': a share must be a number from 0% to 90% (--headroom)"),
        (["load", "-t", "-5s"], "cannot use '-5s': a time must not be negative (--time)"),
        (["load", "-c", "-5"], "cannot use '-5': it must be a whole number from 1 to 20000 (--connections)"),
        (["load", "--qps=-.5k"], "cannot use '-.5k': a load must lie between 0.001 and 1e+09 requests/s (--qps)"),
    ],
)
def test_a_quantity_below_zero_breaks_its_flag_s_own_rule(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["twin", "run", "--load"], "--load"),
        (["twin", "run", "--load", "--json"], "--load"),
        (["load", "--json", "-t"], "--time"),
        (["load", "-s"], "--server"),
        (["load", "-t"], "--time"),
        (["interrupts", "record", "--device", "-x"], "--device"),
    ],
)
def test_a_flag_without_its_value_says_so(words: list[str], flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    out, said = capsys.readouterr()
    assert not out or json.loads(out)["place"] == flag
    assert said.startswith(f"error: {flag} has no value\nhint: see bayop ")


def test_what_is_no_flag_is_none_below_zero_either(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "-5k"]) == 2
    assert "'-5k' is no argument of bayop tune" in capsys.readouterr().err
