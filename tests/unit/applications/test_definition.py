"""Every definition that comes with BayOp, and what a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayop.applications.definition import application_names, find_application
from bayop.errors import InputError


@pytest.mark.parametrize("name", application_names())
def test_a_shipped_definition_is_filled_in(name: str) -> None:
    application = find_application(name)
    assert application.licence
    assert any(application.start[0] in package for package in application.packages)
    assert "{" not in " ".join(application.command(address="127.0.0.1", folder=Path("/tmp/x")))  # noqa: S108


def test_an_unknown_key_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "app.toml").write_text('licence = "MIT"\npakages = []\n', encoding="utf-8")
    with pytest.raises(InputError, match="there is no key 'pakages'") as caught:
        find_application("mine", tmp_path)
    assert str(caught.value.place).endswith("app.toml:2")
