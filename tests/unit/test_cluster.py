from __future__ import annotations

import signal
import socket
import sys

import pytest
from tests.support.needs import need

from bayop.cluster import connect
from bayop.errors import UnsupportedError


def test_without_ray_the_error_says_what_it_is_for_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UnsupportedError, match="ray, which a test uses, is not installed") as caught:
        connect("auto", purpose="a test")
    assert caught.value.hint == "pip install 'bayop[ray]'; without a cluster nothing is needed"


def refusal(address: str) -> UnsupportedError:
    need("ray")
    with pytest.raises(UnsupportedError, match=r"the Ray cluster .* can't be reached") as caught:
        connect(address, purpose="a test")
    assert (caught.value.value, caught.value.place) == (address, "ray")
    assert "ray start --head starts a cluster" in str(caught.value.hint)
    return caught.value


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_cluster_that_is_not_there_is_refused_at_once(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert "refused" in str(refusal(f"{scheme}127.0.0.1:{port}").hint)


@pytest.mark.filterwarnings("default")
def test_a_port_that_can_not_be_is_refused() -> None:
    assert refusal(f"127.0.0.1:{'9' * 30}").hint


@pytest.mark.filterwarnings("default")
def test_what_is_no_address_is_refused_and_the_ways_to_end_stay_ours() -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert refusal("no address").hint
    assert signal.getsignal(signal.SIGTERM) is before
