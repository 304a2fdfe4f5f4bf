"""What an operator is told of a service."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.daemon.test_report import HOLD
from tests.unit.daemon.test_services import files

from bayop.control.ledger import LedgerWindow
from bayop.daemon.standing import Standing
from bayop.space import Setting


@pytest.mark.parametrize(
    ("setting", "last", "current"),
    [
        (HOLD.setting, HOLD, True),
        ({"power.cap_w": 95}, HOLD, False),
        (None, HOLD, False),
        (None, replace(HOLD, setting=None), True),
        (HOLD.setting, None, True),
    ],
)
def test_it_is_said_whether_the_last_window_had_the_setting_in_effect(
    tmp_path: Path,
    setting: Setting | None,
    last: LedgerWindow | None,
    current: bool,  # noqa: FBT001
) -> None:
    (file,) = files(tmp_path, "web")
    standing = Standing(file, "hold", setting, last, None, None, None, (), restored=False, trouble=None, saved=None)
    assert standing.event()["current"] == current
