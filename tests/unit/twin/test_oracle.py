from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.space import AUTO, FREQ_MHZ, RX_USECS, Setting
from bayop.target.oracle import Question
from bayop.twin.oracle import TwinOracle
from bayop.twin.profile_library import load_profile
from bayop.twin.target import profile_space
from bayop.twin.windows import QUANTITIES

SLOW: Setting = {RX_USECS: 400, FREQ_MHZ: 1300}
REQUESTS = 2000


@pytest.fixture(scope="module")
def oracle() -> TwinOracle:
    return TwinOracle("ebbrt-memcached")


def test_it_is_its_profile(oracle: TwinOracle) -> None:
    assert oracle.description == "the twin of memcached on EbbRT"
    assert oracle.space == profile_space(load_profile("ebbrt-memcached"))


def test_answers_are_in_the_order_of_the_questions(oracle: TwinOracle) -> None:
    questions = [Question(qps, setting, 1) for qps, setting in ((3e5, None), (1e5, SLOW), (1e5, None))]
    answers = oracle.answer(questions, requests=REQUESTS, threads=2)
    assert [round(answer["qps"], -5) for answer in answers] == [3e5, 1e5, 1e5]
    assert answers[1]["p99_us"] > answers[2]["p99_us"] + 200
    assert answers[1]["power_w"] < answers[2]["power_w"]
    for question, answer in zip(questions, answers, strict=True):
        assert oracle.answer([question], requests=REQUESTS, threads=1) == [answer]


def test_it_shows_all_that_it_says(oracle: TwinOracle) -> None:
    (answer,) = oracle.answer([Question(1e5, None, 1)], requests=REQUESTS, threads=1)
    assert set(answer.quantities) == oracle.quantities == QUANTITIES


def test_the_seed_is_the_questions(oracle: TwinOracle) -> None:
    first, again, other = oracle.answer([Question(1e5, SLOW, s) for s in (1, 1, 2)], requests=REQUESTS, threads=2)
    assert first == again != other


def test_the_default_is_every_knob_left_alone(oracle: TwinOracle) -> None:
    auto: Setting = {RX_USECS: AUTO, FREQ_MHZ: AUTO}
    alone, explicit = oracle.answer([Question(1e5, s, 7) for s in (None, auto)], requests=REQUESTS, threads=1)
    assert alone == explicit


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(InputError, match="profile"):
        TwinOracle("no-such-machine")
