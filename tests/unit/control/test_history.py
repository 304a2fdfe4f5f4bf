from __future__ import annotations

from bayop.control.history import History
from bayop.measurement import Measurement
from bayop.optimize.base import Observation


def observe(rx_usecs: float, qps: float, power_w: float = 80.0) -> Observation:
    return Observation({"nic.rx_usecs": rx_usecs}, Measurement({"power_w": power_w}), qps)


def test_history_keeps_the_order_of_time() -> None:
    history = History()
    for observation in (first := observe(2, 100.0), second := observe(4, 200.0)):
        history.add(observation)
    assert history.near(200.0) == (first, second)


def test_a_setting_seen_again_at_the_same_load_replaces_what_was_known() -> None:
    history = History()
    for observation in (observe(2, 100.0, 80.0), other := observe(2, 150.0), newer := observe(2, 100.5, 90.0)):
        history.add(observation)
    assert history.near(100.0) == (other, newer)


def test_a_full_history_keeps_what_is_nearest_in_load_and_newest() -> None:
    history = History(capacity=2)
    far, old, new = observe(2, 1000.0), observe(4, 100.0), observe(6, 100.0)
    for observation in (old, far, new, newest := observe(8, 100.0)):
        history.add(observation)
    assert history.near(100.0) == (new, newest)
    assert far in history.near(1000.0)
