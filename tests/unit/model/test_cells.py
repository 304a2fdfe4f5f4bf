from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.unit.model.synthetic import LOADS_QPS, published_cells, study_of

from bayop.errors import InputError
from bayop.model.cells import select
from bayop.slo import Slo
from bayop.study import open_study

SLO = Slo.parse("p99<500us")


def study(**columns: pl.Expr | pl.Series) -> pl.DataFrame:
    return study_of(published_cells()).with_columns(**columns)


def test_cells_are_medians_over_repeats() -> None:
    frame = study()
    slow = frame.with_columns(pl.col("p99_us") * 3.0)
    selection = select(pl.concat([frame, frame, slow]), Slo.parse("p99<1s"))[0]
    np.testing.assert_allclose(selection.cells.latency_us, published_cells().latency_us)
    np.testing.assert_allclose(
        selection.cells.energy_per_interrupt_j, published_cells().energy_per_interrupt_j, rtol=1e-9
    )


def test_says_what_was_left_out() -> None:
    everything = published_cells()
    selection = select(study(), SLO, least_delay_us=50.0)[0]
    over = everything.latency_us >= 500.0
    assert selection.beyond_slo == int(over.sum())
    assert selection.short_delay == int((everything.delay_us[~over] < 50.0).sum())
    assert len(selection.cells) == len(everything) - selection.beyond_slo - selection.short_delay


def test_leaves_out_the_default_policy_caps_and_what_is_not_trusted() -> None:
    first = pl.int_range(pl.len()) == 0
    assert len(select(study(), Slo.parse("p99<1s"))[0].cells) == 90
    frames = [
        study(**{"asked.nic.rx_usecs": pl.when(first).then(None).otherwise(pl.col("asked.nic.rx_usecs"))}),
        study(**{"asked.power.cap_w": pl.when(first).then(55.0)}),
        study(suspect=pl.when(first).then(pl.lit("itr_mislabelled"))),
    ]
    for frame in frames:
        assert len(select(frame, Slo.parse("p99<1s"))[0].cells) == 89


def test_what_has_no_logarithm_was_not_measured() -> None:
    first = pl.int_range(pl.len()) == 0
    idle = study(
        utilization=pl.when(first).then(0.0).otherwise(0.5),
        interrupts_per_s=pl.when(first).then(0.0).otherwise(pl.col("interrupts_per_s")),
    )
    cells = select(idle, Slo.parse("p99<1s"))[0].cells
    assert np.isnan(cells.utilization).sum() == np.isnan(cells.energy_per_interrupt_j).sum() == 1
    broken = study(power_w=pl.when(first).then(0.0).otherwise(pl.col("power_w")))
    assert len(select(broken, Slo.parse("p99<1s"))[0].cells) == 89


def test_takes_the_delay_in_effect() -> None:
    frame = study(**{"effective.nic.rx_usecs": pl.col("asked.nic.rx_usecs") * 10.0})
    assert select(frame, Slo.parse("p99<1s"))[0].cells.delay_us.max() == 4000.0


def test_can_be_narrowed() -> None:
    both = pl.concat([study(), study(os=pl.lit("ebbrt"))])
    assert [s.os for s in select(both, SLO)] == ["ebbrt", "linux"]
    (selection,) = select(both, SLO, os="linux", loads=[400e3])
    assert selection.cells.loads == [400e3]
    assert select(both, SLO)[0].cells.loads == list(LOADS_QPS)


@pytest.mark.parametrize(
    ("frame", "arguments", "message"),
    [
        (study().drop("p99_us"), {}, "p99_us"),
        (study(), {"os": "ebbrt"}, "the study has no trials of ebbrt"),
        (
            study(p99_us=pl.lit(600.0)),
            {},
            "of the 90 settings with a fixed ITR-delay and frequency, none meets p99<500us",
        ),
        (study(), {"least_delay_us": 1e6}, "that meet p99<500us, none has an ITR-delay of 1s or more"),
        (
            study(power_w=pl.lit(0.0)),
            {},
            "no trial with a fixed ITR-delay and frequency has a load, and p99_us and power_w above 0",
        ),
        (
            study(**{"asked.nic.rx_usecs": pl.lit(0, pl.Int64)}),
            {},
            "that meet p99<500us, none has an ITR-delay above 0",
        ),
        (
            study(**{"asked.nic.rx_usecs": pl.lit(None, pl.Int64)}),
            {},
            "the study has no trusted trial with a fixed ITR-delay and frequency, and without a power cap",
        ),
        (study(), {"loads": [1.0]}, "the study has no trials at 1 requests/s"),
        (study(app=pl.Series(["memcached", "silo"] * 45)), {}, "one application"),
    ],
)
def test_refuses_what_it_can_not_fit(frame: pl.DataFrame, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        select(frame, SLO, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("frame", "least_delay_us", "hint"),
    [
        (study(), 1e6, "the longest of theirs is 400us"),
        (study(**{"asked.nic.rx_usecs": pl.lit(0, pl.Int64)}), 0.0, "Eq. 3 gives no energy to a delay of 0"),
    ],
)
def test_says_which_delay_there_would_be(frame: pl.DataFrame, least_delay_us: float, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        select(frame, SLO, least_delay_us=least_delay_us)
    assert caught.value.hint == hint


def test_says_which_systems_there_are() -> None:
    with pytest.raises(InputError) as caught:
        select(study(), SLO, os="ebbrt")
    assert caught.value.hint == "it has linux"


def test_the_published_study_has_its_cells(data: Path) -> None:
    selections = {s.os: s for s in select(open_study(data / "study_memcached.csv"), SLO)}
    assert (len(selections["linux"].cells), selections["linux"].beyond_slo) == (158, 40)
    assert len(selections["ebbrt"].cells) == 160
    assert not np.isnan(selections["linux"].cells.utilization).any()
