from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.experiments.idle.cores import core_use
from bayop.twin.profile_library import load_profile

SERVER = load_profile("linux-memcached")


def test_the_balancer_gathers_work_on_the_first_cores() -> None:
    ((apart, together),) = core_use(SERVER, "yawn", [100e3], requests=10_000, seed=1, threads=2)
    assert (apart.balancer, together.balancer) == ("none", "yawn")
    assert len(apart.operating) == len(together.operating) == SERVER.serving_cores
    assert together.operating[0] > 1.5 * max(apart.operating)
    assert together.operating[-1] < min(apart.operating)
    for use in (apart, together):
        assert all(
            -1e-9 < share < 1.0 + 1e-9 for shares in (use.operating, *use.residency.values()) for share in shares
        )


def test_no_number_depends_on_the_threads() -> None:
    one, two = (
        list(core_use(SERVER, None, [5e3, 20e3], requests=1_000, seed=3, threads=threads)) for threads in (1, 2)
    )
    assert one == two
    assert [[use.qps for use in both] for both in one] == [[5e3] * 2, [20e3] * 2]


def test_a_closed_loop_is_refused() -> None:
    with pytest.raises(InputError):
        list(core_use(load_profile("linux-netpipe"), None, [5e3], requests=100, seed=1, threads=1))
