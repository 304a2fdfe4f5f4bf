"""Applications whose programs are installed, or built, where tests start them."""

from __future__ import annotations

from typing import Final

import pytest
from tests.support.needs import require

from bayop.applications.definition import Application, application_names, find_application
from bayop.applications.packages import program_path

SLOW: Final = frozenset({"sphinx"})
"""A request takes them a second."""

EACH: Final = [
    pytest.param(name, marks=[pytest.mark.slow] * bool(name in SLOW or find_application(name).prepare))
    for name in application_names()
]
"""Their names; what is slow, or prepared first, takes its time."""


def need_program(application: Application) -> None:
    """Skips a test where the program of an application is not there, or fails it where nothing may be skipped."""
    hint = application.build or f"bayop app install {application.name}"
    require(program_path(application) is not None, f"the program of {application.name} is not there", hint)
