from __future__ import annotations

from typing import NoReturn

import numpy as np
import pytest

from bayop.errors import BayopError, InputError
from bayop.measurement import Measurement
from bayop.optimize import make_optimizer
from bayop.optimize.base import Follower, Observation
from bayop.optimize.grid import GridSearch
from bayop.optimize.sealed import SealedOptimizer, sealed
from bayop.testing.fakes import make_problem, papers_space

PROBLEM = make_problem(papers_space(), slo="p99<200us")
SETTING = PROBLEM.space.settings()[0]
SEEN = Observation(SETTING, Measurement({"power_w": 100.0, "p99_us": 100.0}), 1000.0)


class Broken:
    """An optimizer whose library gives up."""

    def fail(self, *_: object) -> NoReturn:
        raise np.linalg.LinAlgError("not positive definite\nand more")

    ask = tell = incumbent = predict = follow = fail


def test_a_library_gives_up_in_words_of_ours() -> None:
    search = SealedOptimizer("ax", Broken())
    for call in (
        lambda: search.ask(1),
        lambda: search.tell(SEEN),
        search.incumbent,
        lambda: search.predict(SETTING),
        lambda: search.follow(SETTING),
    ):
        with pytest.raises(BayopError) as caught:
            call()
        assert caught.value.message == "the optimizer ax failed: LinAlgError: not positive definite"
        assert caught.value.hint


def test_an_error_of_ours_stays_what_it_is() -> None:
    with pytest.raises(InputError, match="no load"), sealed("ax"):
        raise InputError(wrong="no load")


def test_what_the_command_line_makes_is_sealed_and_works_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    search = make_optimizer("grid", PROBLEM, seed=0)
    search.tell(SEEN)
    assert search.ask(3) == search.ask(3)
    assert search.incumbent() == SETTING
    assert search.predict(SETTING) is None
    assert isinstance(search, Follower)
    assert search.follow(SETTING) is None
    monkeypatch.setattr(GridSearch, "__init__", Broken.fail)
    with pytest.raises(BayopError, match="the optimizer grid failed"):
        make_optimizer("grid", PROBLEM, seed=0)
