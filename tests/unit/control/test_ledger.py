from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.control.ledger import Ledger, LedgerWindow, Phase
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.slo import Slo

SLO = Slo.parse("p99<500us")
WINDOW = LedgerWindow(0.0, 20.0, "hold", {"nic.rx_usecs": 50}, 1000.0, 80.0, 400.0, 0.005, meets_slo=True)


@st.composite
def days(draw: st.DrawFn) -> list[LedgerWindow]:
    """Windows without gap, of any length, power and phase."""
    windows, now = [], draw(st.floats(0.0, 1e5))
    for _ in range(draw(st.integers(1, 20))):
        duration = draw(st.floats(0.5, 5000.0))
        phase: Phase = draw(st.sampled_from(["default", "trial", "hold", "fall-back"]))
        power, latency = draw(st.sampled_from([50.0, 80.0, 120.0])), draw(st.sampled_from([100.0, 499.0, 900.0]))
        windows.append(
            LedgerWindow(
                now,
                duration,
                phase,
                None,
                1000.0,
                power,
                latency,
                latency / 1e4,
                meets_slo=SLO.met_by({SLO.quantity: latency}),
            )
        )
        now = windows[-1].end_s
    return windows


@given(days())
def test_energy_time_and_requests_are_the_sums_over_the_windows(windows: list[LedgerWindow]) -> None:
    books = Ledger()
    for window in windows:
        books.add(window)
    assert books.energy_j == pytest.approx(sum((w.power_w or 0.0) * w.duration_s for w in windows))
    assert books.duration_s == pytest.approx(windows[-1].end_s - windows[0].start_s)
    assert books.requests == pytest.approx(sum(w.qps * w.duration_s for w in windows))
    assert books.requests_over == pytest.approx(sum(w.qps * w.duration_s * w.over_share for w in windows))
    assert books.over_s == pytest.approx(sum(w.duration_s for w in windows if not w.meets_slo))
    assert all(
        math.isclose(a.end_s, b.start_s, abs_tol=1e-6) for a, b in zip(books.windows, books.windows[1:], strict=False)
    )


def test_a_window_that_continues_the_last_makes_it_longer_but_trials_stay_apart() -> None:
    books = Ledger()
    for start in (0.0, 20.0):
        books.add(replace(WINDOW, start_s=start))
    assert [w.duration_s for w in books.windows] == [40.0]
    for start in (40.0, 60.0):
        books.add(replace(WINDOW, start_s=start, phase="trial", search=1))
    assert len(books.windows) == 3


@pytest.mark.parametrize("start", [19.0, 21.0])
def test_a_gap_and_an_overlap_are_refused(start: float) -> None:
    books = Ledger([WINDOW])
    with pytest.raises(InputError, match="a window must begin where the last one ended, at 20 s"):
        books.add(replace(WINDOW, start_s=start))


def test_a_window_has_a_duration() -> None:
    with pytest.raises(InputError, match="longer than nothing"):
        Ledger().add(replace(WINDOW, duration_s=0.0))


def test_a_measured_window_takes_the_served_load_or_else_the_offered() -> None:
    def window(**extra: float) -> LedgerWindow:
        measurement = Measurement({"power_w": 80.0, "p99_us": 600.0, "p50_us": 100.0, **extra})
        return LedgerWindow.of(measurement, SLO, start_s=0, duration_s=10, phase="hold", setting=None, qps=500.0)

    assert window().qps == 500.0
    assert window(qps=490.0).qps == 490.0
    assert not window().meets_slo
    assert window().power_w == 80.0
    assert 0.01 < window().over_share < 0.5


def test_a_window_that_showed_no_power_counts_at_the_mean_of_the_others() -> None:
    cut = replace(WINDOW, start_s=80.0, duration_s=10.0, power_w=None, cut_short="its latency was twice the limit")
    books = Ledger([WINDOW, replace(WINDOW, start_s=20.0, duration_s=60.0, power_w=100.0), cut])
    assert books.power_of(cut) == pytest.approx(95.0)
    assert books.energy_j == pytest.approx(20.0 * 80.0 + 60.0 * 100.0 + 10.0 * 95.0)
    with pytest.raises(InputError, match="no window shows power_w"):
        _ = Ledger([cut]).energy_j


def test_a_window_that_was_cut_short_is_a_miss_that_shows_what_it_can() -> None:
    measurement = Measurement({"p50_us": 100.0, "p99_us": 400.0}, cut_short="the load was another")
    window = LedgerWindow.of(measurement, SLO, start_s=0, duration_s=3, phase="hold", setting=None, qps=500.0)
    assert (window.meets_slo, window.power_w, window.latency_us) == (False, None, 400.0)
    assert window.cut_short == "the load was another"
    whole = Measurement({"p50_us": 100.0, "p99_us": 400.0})
    with pytest.raises(InputError, match="the target does not measure power_w"):
        LedgerWindow.of(whole, SLO, start_s=0, duration_s=3, phase="hold", setting=None, qps=500.0)
