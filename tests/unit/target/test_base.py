"""What a search may ask of a target; `tests/contract/test_targets.py` holds every target to the answers."""

from __future__ import annotations

from typing import cast

import pytest

from bayop.optimize.grey_box.search import GreyBox
from bayop.search import run_search
from bayop.target.base import Target, Tunable
from bayop.testing.fakes import FakeServer, make_problem

PROBLEM = make_problem(FakeServer().space)


class Only:
    """Another object, of which nothing can be seen but the members of a contract."""

    def __init__(self, contract: type, behind: object) -> None:
        self._members = {name for name in dir(contract) if not name.startswith("_")}
        self._behind = behind

    def __getattr__(self, name: str) -> object:
        if name not in self._members:
            raise AttributeError(name)
        return getattr(self._behind, name)


def test_a_search_needs_nothing_of_a_target_but_the_contract() -> None:
    server, hidden = FakeServer(seed=1), FakeServer(seed=1)
    expected = run_search(server, PROBLEM, GreyBox(PROBLEM), max_trials=5)
    result = run_search(cast("Target", Only(Target, hidden)), PROBLEM, GreyBox(PROBLEM), max_trials=5)
    assert result.setting == expected.setting is not None
    assert hidden.applied == server.applied


def test_a_server_is_asked_about_and_not_changed() -> None:
    server = Only(Tunable, FakeServer())
    assert "power_w" in cast("Tunable", server).quantities
    for name in ("apply", "measure", "restore"):
        with pytest.raises(AttributeError, match=name):
            getattr(server, name)
