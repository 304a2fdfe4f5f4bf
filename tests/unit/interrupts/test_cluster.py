from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.support.interrupt_logs import LINES, write_lines

from bayop.errors import UnsupportedError
from bayop.interrupts.cluster import summarise_on_cluster
from bayop.interrupts.log import open_log


def test_without_ray_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    log = open_log(write_lines(tmp_path / "log", LINES))
    with pytest.raises(UnsupportedError) as caught:
        summarise_on_cluster([log], "auto", lambda: None)
    assert "pip install 'bayop[ray]'" in str(caught.value.hint)
