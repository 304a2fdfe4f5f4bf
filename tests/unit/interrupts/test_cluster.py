from __future__ import annotations

import socket
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.conftest import require

from bayop.errors import UnsupportedError
from bayop.interrupts.cluster import summarise_on_cluster
from bayop.interrupts.log import open_log
from bayop.testing.interrupt_logs import LINES, write_lines


def test_without_ray_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    log = open_log(write_lines(tmp_path / "log", LINES))
    with pytest.raises(UnsupportedError) as caught:
        summarise_on_cluster([log], "auto", lambda: None)
    assert "pip install 'bayop[ray]'" in str(caught.value.hint)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_cluster_that_is_not_there_is_refused_at_once(tmp_path: Path, scheme: str) -> None:
    require(find_spec("ray") is not None, "Ray is not installed: pip install 'bayop[ray]'")
    log = open_log(write_lines(tmp_path / "log", LINES))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(UnsupportedError) as caught:
        summarise_on_cluster([log], f"{scheme}127.0.0.1:{port}", lambda: None)
    assert caught.value.place == "--ray"
    assert "refused" in str(caught.value.hint)
