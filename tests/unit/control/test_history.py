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
    history = History()
    old, far, *new = observe(2, 100.0), observe(2, 1000.0), *(observe(4 + n, 100.0) for n in range(96))
    for observation in (old, far, *new):
        history.add(observation)
    assert history.near(100.0) == tuple(new)
    assert far in history.near(1000.0)


def test_what_is_added_is_told_before_it_counts_and_what_was_known_is_not() -> None:
    told: list[Observation] = []
    known = observe(2, 100.0)

    def tell(observation: Observation) -> None:
        assert observation not in history.near(100.0)
        told.append(observation)

    history = History(known=(known,), on_add=tell)
    history.add(new := observe(4, 100.0))
    assert told == [new]
    assert history.near(100.0) == (known, new)


def test_the_oldest_are_forgotten_at_last() -> None:
    history = History(known=(observe(2, 100.0 * 1.02**n) for n in range(300)), most=200)
    history.add(newest := observe(4, 100.0))
    assert history.near(100.0)[-1] == newest
    assert observe(2, 100.0) not in history.near(100.0)
    assert len({o.qps for n in range(300) for o in history.near(100.0 * 1.02**n)}) == 200
