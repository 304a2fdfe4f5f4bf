from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.latency.base import SEARCHABLE, Vantage, check_vantage


def test_what_sees_the_wait_before_the_interrupt_may_feed_a_search() -> None:
    assert [check_vantage(vantage, place="a source") for vantage in SEARCHABLE] == list(SEARCHABLE)


def test_the_server_alone_may_not_and_the_reason_is_told() -> None:
    assert set(Vantage) - set(SEARCHABLE) == {Vantage.SERVER}
    with pytest.raises(InputError, match="a search must be fed with what clients see") as caught:
        check_vantage(Vantage.SERVER, place="a source")
    assert "server+wait" in str(caught.value.hint)
