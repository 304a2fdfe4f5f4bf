from __future__ import annotations

from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.interrupts.log import open_log
from bayop.interrupts.query import summarise


def refusal(path: Path) -> InputError:
    """The error that refuses a log, on one line."""
    with pytest.raises(InputError) as caught:
        summarise(open_log(path))
    assert "\n" not in caught.value.message
    return caught.value
