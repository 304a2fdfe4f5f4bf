from __future__ import annotations

import numpy as np
import pytest

from bayop.domains import Choices, Steps
from bayop.optimize.grey_box.inputs import Encoder, distances, typical_delay_us
from bayop.slo import Slo
from bayop.space import FREQ_MHZ, QUEUES, RX_USECS, Knob, Setting, Space

DELAY = Knob(RX_USECS, Steps(0, 400, 2), auto=True)
FREQUENCY = Knob(FREQ_MHZ, Choices((1300, 2900)))
CAP = Knob("power.cap_w", Steps(60, 120, 5))
GOVERNOR = Knob("idle.governor", Choices(("menu", "teo")))
TYPICAL_US = 50.0


def encode(space: Space, *settings: Setting) -> tuple[list[list[float]], list[list[float]]]:
    inputs = Encoder(space, TYPICAL_US).encode(settings, np.zeros(len(settings)))
    return inputs.known.tolist(), inputs.unknown.tolist()


def test_the_knobs_of_the_prior_keep_their_physical_numbers() -> None:
    space = Space((DELAY, FREQUENCY))
    settings = [{RX_USECS: 0, FREQ_MHZ: 2900}, {RX_USECS: 400, FREQ_MHZ: 1300}]
    inputs = Encoder(space, TYPICAL_US).encode(settings, np.array([0.0, 0.5]))
    assert len(inputs) == 2
    assert inputs.delay_us.tolist() == [0.0, 400.0]
    assert inputs.frequency.tolist() == pytest.approx([1.0, 1300 / 2900])
    assert inputs.log_load.tolist() == [0.0, 0.5]
    assert inputs.known[:, 0].tolist() == pytest.approx([0.0, 1.0]), "the delay spans 0 to 1"


def test_short_delays_are_told_apart_better_than_long_ones() -> None:
    space = Space((DELAY, FREQUENCY))
    settings = [{RX_USECS: d, FREQ_MHZ: 2900} for d in (0, 20, 380, 400)]
    bent = Encoder(space, TYPICAL_US).encode(settings, np.zeros(4)).known[:, 0]
    assert bent[1] - bent[0] > 5 * (bent[3] - bent[2])


def test_auto_is_a_typical_number_and_a_flag() -> None:
    space = Space((DELAY, FREQUENCY))
    inputs = Encoder(space, TYPICAL_US).encode(
        [{RX_USECS: "auto", FREQ_MHZ: 1300}, {RX_USECS: 20, FREQ_MHZ: 1300}], np.zeros(2)
    )
    assert inputs.delay_us[0] == inputs.delay_us[1]
    assert inputs.unknown.tolist() == [[1.0], [0.0]]


def test_other_knobs_are_scaled_numbers_and_one_column_for_each_name() -> None:
    space = Space((CAP, GOVERNOR))
    known, unknown = encode(
        space, {"power.cap_w": 60, "idle.governor": "menu"}, {"power.cap_w": 120, "idle.governor": "teo"}
    )
    assert unknown == [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    fastest = Encoder(space, TYPICAL_US).encode([], np.zeros(0)).fastest
    assert fastest.tolist() == [0.5, 0.0, 1.0], "a cap of 90 W, in the middle, as nobody knows what is safe"
    assert known[0] == known[1], "what is not in the space does not differ"


def test_only_the_knobs_of_the_prior_are_explained() -> None:
    assert Encoder(Space((CAP, FREQUENCY)), TYPICAL_US).explained
    assert not Encoder(Space((CAP, GOVERNOR)), TYPICAL_US).explained
    left_alone = Knob(RX_USECS, Choices(("auto",)))
    assert not Encoder(Space((left_alone, CAP)), TYPICAL_US).explained


def test_rows_are_the_same_points() -> None:
    inputs = Encoder(Space((CAP,)), TYPICAL_US).encode(
        [{"power.cap_w": w} for w in (60, 90, 120)], np.array([0.1, 0.2, 0.3])
    )
    rows = inputs.rows(np.array([2, 0]))
    assert rows.unknown.tolist() == [[1.0], [0.0]]
    assert rows.log_load.tolist() == [0.3, 0.1]


def test_fewer_queues_leave_fewer_cores_to_serve() -> None:
    space = Space((DELAY, Knob(QUEUES, Steps(1, 8, 1))))
    settings: list[Setting] = [{RX_USECS: 2, QUEUES: n} for n in (1, 4, 8)]
    inputs = Encoder(space, TYPICAL_US).encode(settings, np.zeros(3))
    assert inputs.serving.tolist() == pytest.approx([1 / 8, 1 / 2, 1.0])
    without = Encoder(Space((DELAY,)), TYPICAL_US).encode([{RX_USECS: 2}], np.zeros(1))
    assert without.serving.tolist() == [1.0]


def test_what_is_typical_scales_with_the_limit_and_the_longest_delay() -> None:
    typical = [
        typical_delay_us(Space((Knob(RX_USECS, Steps(0, scale * 400, scale * 2)),)), Slo(0.99, scale * 500.0))
        for scale in (1, 1000)
    ]
    assert typical[1] == pytest.approx(1000.0 * typical[0])
    assert typical_delay_us(Space((CAP,)), Slo(0.99, 1e6)) == pytest.approx(
        1000.0 * typical_delay_us(Space((CAP,)), Slo(0.99, 1e3))
    )
    one_delay = Space((Knob(RX_USECS, Steps(2, 2, 1)),))
    assert typical_delay_us(one_delay, Slo(0.99, 500.0)) == typical_delay_us(Space((CAP,)), Slo(0.99, 500.0))


def test_the_distance_is_that_of_all_coordinates_together() -> None:
    encoder = Encoder(Space((CAP, GOVERNOR)), TYPICAL_US)
    settings: list[Setting] = [
        {"power.cap_w": 60, "idle.governor": "menu"},
        {"power.cap_w": 120, "idle.governor": "menu"},
        {"power.cap_w": 120, "idle.governor": "teo"},
    ]
    apart = distances(encoder.encode(settings, np.zeros(3)), encoder.encode(settings[:1], np.zeros(1)))
    assert apart[:, 0].tolist() == pytest.approx([0.0, 1.0, 3.0**0.5])
