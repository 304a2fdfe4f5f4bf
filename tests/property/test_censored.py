"""What a window that was cut short may teach the grey box, whatever it has shown."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bayop.measurement import Measurement
from bayop.optimize.base import Observation
from bayop.optimize.grey_box import GreyBox
from bayop.space import FREQ_MHZ, RX_USECS, Setting
from bayop.testing.fakes import FakeServer, make_problem, papers_space

SPACE = papers_space()
PROBLEM = make_problem(SPACE, slo="p99<400us")
SERVER = FakeServer(SPACE, noise=0.0)
TOLD = [SERVER.observe({RX_USECS: d, FREQ_MHZ: f}) for d, f in ((2, 2900), (60, 2400), (120, 2900))]

# Away from what was measured: a window that was cut short does not undo a whole one.
delays = st.integers(100, 200).map(lambda i: 2 * i)
frequencies = st.integers(13, 29).map(lambda i: 100 * i)


def informed() -> GreyBox:
    optimizer = GreyBox(PROBLEM)
    for observation in TOLD:
        optimizer.tell(observation)
    return optimizer


def cut_short(setting: Setting, latency_us: float, power_w: float) -> Observation:
    window = Measurement({"power_w": power_w, "utilization": 0.01, "p99_us": latency_us}, cut_short="harm")
    return Observation(setting, window, PROBLEM.qps)


@settings(max_examples=25)
@given(delay=delays, frequency=frequencies, latency_us=st.floats(1.0, 1e6), power_w=st.floats(0.001, 1e4))
def test_a_censored_setting_is_believed_to_miss_the_slo(
    delay: int, frequency: int, latency_us: float, power_w: float
) -> None:
    setting = {RX_USECS: delay, FREQ_MHZ: frequency}
    without, optimizer = informed(), informed()
    before = without.predict(setting)
    optimizer.tell(cut_short(setting, latency_us, power_w))
    after = optimizer.predict(setting)
    assert before is not None
    assert after is not None
    assert after.slo_probability <= before.slo_probability + 1e-9
    assert after.slo_probability < 0.9, "trusted, although it was cut short"


@settings(max_examples=25)
@given(delay=delays, frequency=frequencies, powers_w=st.tuples(st.floats(0.001, 1e4), st.floats(0.001, 1e4)))
def test_what_it_drew_says_nothing(delay: int, frequency: int, powers_w: tuple[float, float]) -> None:
    setting = {RX_USECS: delay, FREQ_MHZ: frequency}
    predictions = []
    for power_w in powers_w:
        optimizer = informed()
        optimizer.tell(cut_short(setting, 1500.0, power_w))
        predictions.append(optimizer.predict(setting))
    assert predictions[0] == predictions[1]


def test_a_bound_below_what_is_expected_anyway_says_nothing() -> None:
    setting = {RX_USECS: 400, FREQ_MHZ: 1300}
    without, optimizer = informed(), informed()
    expected = without.predict(setting)
    assert expected is not None
    assert expected.quantities["p99_us"] > 410, "the premise of this test"
    optimizer.tell(cut_short(setting, 405.0, 1.0))
    assert optimizer.predict(setting) == expected


def test_a_bound_above_what_is_expected_is_believed() -> None:
    setting = {RX_USECS: 60, FREQ_MHZ: 2900}
    optimizer = informed()
    optimizer.tell(cut_short(setting, 2000.0, 1.0))
    after = optimizer.predict(setting)
    assert after is not None
    assert after.quantities["p99_us"] > 400
