from __future__ import annotations

import polars as pl
from tests.support.tables import study_frame

from bayop.study import merge_studies
from bayop.study.summary import Spread, campaigns, spreads


def only(frame: pl.DataFrame, knob: str, values: list[object]) -> pl.DataFrame:
    return frame.with_columns(pl.Series(f"asked.{knob}", values))


def test_a_campaign_says_what_was_asked_and_how_often() -> None:
    again = study_frame().head(4).with_columns(pl.col("trial") + 100)
    (campaign,) = campaigns(pl.concat([study_frame(), again]))
    assert campaign.who == {"study": "sweep", "target": "twin", "machine": "fake", "os": "linux", "app": "memcached"}
    assert (campaign.trials, campaign.settings, campaign.default_trials) == (14, 9, 2)
    assert campaign.repeats == (1, 2)
    assert campaign.loads == {"qps_offered": [1000.0]}
    assert campaign.knobs == {"nic.rx_usecs": [2.0, 200.0], "cpu.freq_mhz": [1300.0, 2900.0]}
    assert campaign.doubts == {}


def test_a_setting_under_two_loads_is_one_setting() -> None:
    busy = study_frame(qps=2000.0).with_columns(pl.col("trial") + 100)
    (campaign,) = campaigns(pl.concat([busy, study_frame()]))
    assert campaign.loads == {"qps_offered": [1000.0, 2000.0]}
    assert (campaign.settings, campaign.default_trials, campaign.repeats) == (9, 2, (1, 1))


def test_choices_are_listed_and_one_number_is_one() -> None:
    frame = study_frame(delays=(50,), freqs=(1300, 2000))
    (campaign,) = campaigns(only(frame, "idle.governor", [None, "teo", "menu"]))
    assert campaign.knobs["idle.governor"] == ["menu", "teo"]
    assert campaign.knobs["nic.rx_usecs"] == [50.0]
    (plain,) = campaigns(only(frame, "power.cap_w", [None, None, None]).cast({"asked.power.cap_w": pl.Float64}))
    assert "power.cap_w" not in plain.knobs


def test_a_knob_alone_makes_a_setting() -> None:
    frame = study_frame(delays=(50,), freqs=(1300,)).drop("asked.cpu.freq_mhz")
    (campaign,) = campaigns(only(frame, "idle.governor", ["teo", None]))
    assert (campaign.settings, campaign.default_trials) == (2, 0)


def test_without_knobs_everything_is_the_default() -> None:
    frame = study_frame().drop("asked.nic.rx_usecs", "asked.cpu.freq_mhz")
    (campaign,) = campaigns(frame)
    assert (campaign.settings, campaign.default_trials, campaign.repeats) == (0, 10, (10, 10))


def test_campaigns_stand_by_name_and_systems_apart() -> None:
    ebbrt = study_frame(study="a").with_columns(os=pl.lit("ebbrt"))
    parts = campaigns(
        merge_studies([study_frame(study="b"), study_frame(study="a"), ebbrt.with_columns(pl.col("trial") + 100)])
    )
    assert [(c.who["study"], c.who["os"], c.trials) for c in parts] == [
        ("a", "ebbrt", 10), ("a", "linux", 10), ("b", "linux", 10),
    ]  # fmt: skip


def test_trials_that_are_not_trusted_are_counted_by_the_reason() -> None:
    rows = study_frame().height
    frame = study_frame().with_columns(
        suspect=pl.Series([None, "a", "b", "b", *[None] * (rows - 4)]),
        cut_short=pl.Series(["harm", *[None] * (rows - 1)]),
    )
    (campaign,) = campaigns(frame)
    assert campaign.doubts == {"b": 2, "a": 1, "cut short": 1}


def test_a_spread_is_over_what_is_trusted_and_measured() -> None:
    frame = pl.DataFrame(
        {
            "study": ["s"] * 5,
            "trial": [1, 2, 3, 4, 5],
            "power_w": [10.0, 30.0, 20.0, 999.0, None],
            "p99_us": [None] * 5,
            "suspect": [None, None, None, "label", None],
        },
        schema_overrides={"p99_us": pl.Float64},
    )
    assert spreads(frame) == [Spread("power_w", 3, 10.0, 20.0, 30.0)]
