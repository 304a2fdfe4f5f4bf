from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.experiments.sweep.load import Load


def test_a_load_is_known_by_the_column_of_its_loop() -> None:
    assert Load(qps=6e5).columns == {"qps_offered": 6e5}
    assert Load(message_bytes=64).columns == {"message_bytes": 64}
    assert (Load(qps=6e5).amount, Load(message_bytes=64).amount) == (6e5, 64)
    assert (str(Load(qps=6e5)), str(Load(message_bytes=64))) == ("600000 qps", "64 B")


def test_only_an_open_loop_has_a_rate() -> None:
    assert Load(qps=6e5).rate() == 6e5
    with pytest.raises(InputError, match="the load of this target must be a number of requests/s"):
        Load(message_bytes=64).rate()
