"""What costs no cluster; `tests/end_to_end/test_sweep_ray.py` has the rest."""

from __future__ import annotations

import sys

import pytest

from bayop import __version__
from bayop.errors import UnsupportedError
from bayop.experiments.sweep.makers import TwinMaker
from bayop.experiments.sweep.ray_cluster import RayCluster

MAKER = TwinMaker.of("linux-memcached", window_s=0.05)


def test_without_ray_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UnsupportedError) as caught:
        RayCluster(MAKER, "auto", version=__version__)
    assert caught.value.message == "ray, which a sweep on a cluster uses, is not installed"
    assert caught.value.hint is not None
    assert "pip install 'bayop[ray]'" in caught.value.hint
