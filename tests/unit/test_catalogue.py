from __future__ import annotations

import pytest

from bayop import _core
from bayop.catalogue import check_known, knob_entry, knob_ids
from bayop.errors import InputError
from bayop.space import RX_USECS


def test_the_catalogue_has_each_knob_once() -> None:
    assert len(set(knob_ids())) == len(knob_ids()) == len(_core.knob_catalogue())
    for knob_id in knob_ids():
        check_known(knob_id)
        entry = knob_entry(knob_id)
        assert entry is not None
        assert entry["id"] == knob_id
    assert knob_entry("nic.rx_usec") is None


@pytest.mark.parametrize(
    ("knob_id", "hint"), [("nic.rx_usec", f"did you mean {RX_USECS}?"), ("zzz", "bayop knobs lists all")]
)
def test_what_is_no_knob_gets_the_one_that_may_be_meant(knob_id: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        check_known(knob_id, place="WHAT")
    assert str(caught.value) == f"there is no knob '{knob_id}' (WHAT)"
    assert caught.value.hint == hint
