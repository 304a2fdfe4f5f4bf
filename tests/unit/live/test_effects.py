"""What came into effect; a driver that rounds is tested with the targets."""

from __future__ import annotations

import pytest

from bayop.errors import DriftError
from bayop.live.agent.messages import Applied, Change
from bayop.live.agent.transport import ConflictError
from bayop.live.effects import Effects
from bayop.space import AUTO, FREQ_MHZ, RX_USECS, Setting


def test_what_was_asked_for_is_known_by_what_came_of_it() -> None:
    effects = Effects()
    asked: Setting = {RX_USECS: 10, FREQ_MHZ: AUTO}
    assert effects.request_of(asked) is None
    setting = effects.of(asked, lambda _: Applied((), {RX_USECS: 20.5, FREQ_MHZ: 2000}))
    assert dict(setting) == {RX_USECS: 20.5, FREQ_MHZ: AUTO}, "what is handed back has no value of ours"
    assert effects.request_of(setting) == asked


def test_one_knob_with_two_values_is_refused() -> None:
    changes = (Change("nic.rx_usecs@eth0", 3, 10, 10), Change("nic.rx_usecs@eth1", 3, 10, 12))
    with pytest.raises(DriftError, match=r"more than one value: nic\.rx_usecs@eth0 10, nic\.rx_usecs@eth1 12"):
        Effects().of({RX_USECS: 10}, lambda _: Applied(changes, {RX_USECS: None}))


def test_whoever_takes_a_knob_from_us_is_drift() -> None:
    def write(_: Setting) -> Applied:
        raise ConflictError(wrong="somebody else holds it")

    with pytest.raises(DriftError, match="somebody else holds it"):
        Effects().of({RX_USECS: 10}, write)
