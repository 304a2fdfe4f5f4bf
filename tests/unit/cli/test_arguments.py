from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest

from bayop.cli.flags.arguments import (
    add_slo,
    add_slos,
    headroom,
    objective_of,
    path,
    qps,
    reader,
    slos_of,
    study_file,
    whole_number,
)
from bayop.errors import InputError
from bayop.slo import Slo


@pytest.mark.parametrize(
    ("text", "value"), [("600000", 6e5), ("600kqps", 6e5), ("600k", 6e5), ("0.001", 0.001), ("1e9", 1e9)]
)
def test_a_load_has_an_optional_unit(text: str, value: float) -> None:
    assert qps(text) == value


@pytest.mark.parametrize("text", ["0", "-5", "1e300", "0.0001", "2000Mqps"])
def test_a_load_that_no_server_has_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"a load must lie between 0\.001 and 1e\+09 requests/s") as caught:
        qps(text)
    assert caught.value.value == text


def test_a_whole_number_lies_within_its_bounds() -> None:
    parse = whole_number(1, 24)
    assert [parse("1"), parse("24")] == [1, 24]
    for text in ("0", "25", "9" * 99):
        with pytest.raises(InputError, match="it must be a whole number from 1 to 24"):
            parse(text)
    for text in ("", "1.5", "few"):
        with pytest.raises(InputError, match="it must be a whole number"):
            parse(text)


def test_a_path_is_not_empty() -> None:
    assert path("study.csv") == Path("study.csv")
    with pytest.raises(InputError, match="a path must not be empty"):
        path("")


def test_a_study_is_a_file_or_an_example() -> None:
    assert study_file("study.csv") == Path("study.csv")
    assert study_file("example:silo").is_file()
    with pytest.raises(InputError, match="a path must not be empty"):
        study_file("")


def test_an_error_is_placed_at_its_flag() -> None:
    with pytest.raises(InputError) as caught:
        reader(qps, "--load")("many")
    assert caught.value.place == "--load"


def test_an_objective_knows_its_slo() -> None:
    slo = Slo.parse("p90<1ms")
    assert objective_of(Namespace(objective="latency"), slo).quantities == {"p90_us"}
    with pytest.raises(
        InputError, match=r"cannot use 'pwoer': an objective must be a name or an expression \(--objective\)"
    ):
        objective_of(Namespace(objective="pwoer"), slo)


def slo_of(*texts: str) -> str:
    parser = ArgumentParser()
    add_slos(parser)
    return str(slos_of(parser.parse_args([word for text in texts for word in ("--slo", text)])))


def test_every_slo_that_is_typed_adds_to_what_is_kept() -> None:
    assert slo_of() == "p99<500us"
    assert slo_of("p50<100us", "p99.9<2ms,qps>590k") == "p99.9<2ms,p50<100us,qps>590000qps"
    assert slo_of("qps>0.9*default", "p99<1.2*default") == "qps>0.9*default,p99<1.2*default"
    with pytest.raises(InputError, match=r"must limit each of its quantiles once \(--slo"):
        slo_of("p99<500us", "p99<400us")


def test_a_verb_that_knows_one_limit_refuses_several() -> None:
    parser = ArgumentParser()
    add_slo(parser)
    with pytest.raises(InputError, match=r"an SLO must be one latency limit here \(--slo"):
        parser.parse_args(["--slo", "p99<500us,p50<100us"])


@pytest.mark.parametrize(("text", "value"), [("10%", 0.1), ("0.1", 0.1), ("0", 0.0), ("90%", 0.9), ("2.5 %", 0.025)])
def test_a_share_is_a_number_or_per_cent(text: str, value: float) -> None:
    assert headroom(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "91%", "-1%", "10", "10%x", "nan", "inf%", "much"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="a share must be a number from 0% to 90%"):
        headroom(text)
