from __future__ import annotations

import polars as pl
import pytest
from tests.support.tables import study_frame

from bayop.errors import InputError
from bayop.study import merge_studies


def test_campaigns_stand_one_after_the_other_and_columns_join_by_name() -> None:
    a = study_frame(study="a").drop("utilization")
    b = study_frame(study="b").with_columns(seed=pl.lit(1))
    merged = merge_studies([b, a])
    assert merged.height == a.height + b.height
    assert merged["study"].unique(maintain_order=True).to_list() == ["a", "b"]
    assert merged.filter(study="a")["utilization"].null_count() == a.height
    assert merged.filter(study="b")["utilization"].equals(b["utilization"])


def test_a_trial_that_both_have_is_kept_once() -> None:
    a = study_frame()
    merged = merge_studies([a.head(6), a.tail(7).with_columns(seed=pl.lit(3))])
    assert merged.height == a.height
    assert merged["trial"].to_list() == a["trial"].to_list()
    assert merged["power_w"].equals(a["power_w"])
    # What only one of them knows is kept.
    assert merged["seed"].null_count() == a.height - 7


def test_a_trial_that_they_tell_differently_is_refused() -> None:
    a = study_frame()
    other = a.with_columns(power_w=pl.when(pl.col("trial") == 3).then(99.0).otherwise("power_w"))
    with pytest.raises(InputError, match="agree on the trials that they share") as caught:
        merge_studies([a, other])
    assert caught.value.value == "different power_w in trial 3 of sweep"


def test_nothing_to_merge_is_refused() -> None:
    with pytest.raises(InputError, match="no study is named"):
        merge_studies([])
