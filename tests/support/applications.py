"""Applications whose programs are installed, or built, where tests start them."""

from __future__ import annotations

from tests.support.needs import need, require

from bayop.applications.definition import Application
from bayop.applications.packages import program_path


def need_program(application: Application) -> None:
    """Skips a test where the program of an application is not there, or fails it where nothing may be skipped."""
    if application.build is None:
        need(application.start[0])
    else:
        is_built = program_path(application) is not None
        require(is_built, f"{application.start[0]} is not built", application.build)
