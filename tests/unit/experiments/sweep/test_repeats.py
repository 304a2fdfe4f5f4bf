from __future__ import annotations

import math
from statistics import fmean, stdev

import numpy as np
import pytest

from bayop.errors import InputError
from bayop.experiments.sweep.repeats import Repeats, relative_half_width
from bayop.measurement import Measurement


def measurements(*values: float) -> list[Measurement]:
    return [Measurement({"p99_us": value}) for value in values]


def test_a_given_number_of_repeats_is_enough() -> None:
    repeats = Repeats(2, 2)
    assert not repeats.enough(measurements(1.0))
    assert repeats.enough(measurements(1.0, 100.0))


def test_repeats_go_on_until_the_interval_is_narrow_or_the_cap_is_reached() -> None:
    repeats = Repeats(3, 5, "p99_us", 0.02)
    assert not repeats.enough(measurements(100.0, 100.0))
    assert repeats.enough(measurements(100.0, 100.5, 99.5))
    assert not repeats.enough(measurements(100.0, 110.0, 95.0))
    assert not repeats.enough(measurements(100.0, 110.0, 95.0, 105.0))
    assert repeats.enough(measurements(100.0, 110.0, 95.0, 105.0, 90.0))


def test_a_setting_that_did_harm_is_not_repeated_for_precision() -> None:
    repeats = Repeats(2, 9, "p99_us", 0.02)
    harmed = Measurement({"p99_us": 5000.0}, cut_short="p99 5000 us, over 1500 us")
    assert repeats.enough([*measurements(100.0), harmed])


def test_the_half_width_is_students() -> None:
    values = [98.0, 101.0, 103.0, 100.0]
    # The 97.5 % quantile of t with three degrees of freedom is 3.1824 (any table).
    assert relative_half_width(values) == pytest.approx(3.18245 * stdev(values) / 2.0 / fmean(values), rel=1e-5)
    assert relative_half_width([5.0]) == math.inf
    assert relative_half_width([5.0, 5.0]) == 0.0


def test_the_interval_holds_the_mean_as_often_as_it_says() -> None:
    generator = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        values = generator.normal(100.0, 5.0, size=4).tolist()
        hits += abs(fmean(values) - 100.0) <= relative_half_width(values) * fmean(values)
    assert hits / 2000 == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize(
    "arguments",
    [(0, 1), (3, 2), (1, 2), (1, 1, "p99_us"), (3, 9, "p99_us", 0.0), (3, 9, "", 0.1), (1, 9, "p99_us", 0.1)],
)
def test_numbers_that_do_not_fit_are_refused(arguments: tuple[int, int]) -> None:
    with pytest.raises(InputError):
        Repeats(*arguments)
