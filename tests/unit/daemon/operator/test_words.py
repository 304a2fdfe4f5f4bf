"""What comes from outside is checked before it counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.daemon.operator.words import Words
from bayop.errors import InputError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Recorded:
    """Services that note what was wanted of them."""

    def __init__(self) -> None:
        self.done: list[tuple[object, ...]] = []

    def named(self, name: str | None) -> list[str]:
        if name not in (None, "web", "db"):
            raise InputError(wrong=f"there is no service {name!r}")
        return ["web", "db"] if name is None else [name]

    def standings(self, names: object) -> list[dict[str, object]]:
        return [{"of": names}]

    def __getattr__(self, verb: str) -> object:
        def note(*words: object) -> list[dict[str, object]]:
            self.done.append((verb, *words))
            return []

        return note


def words_of(services: Recorded) -> Words:
    return Words(services, lambda: {"event": "reloaded"})  # type: ignore[arg-type]


def test_each_verb_does_its_own() -> None:
    services = Recorded()
    words = words_of(services)
    words.answer({"verb": "pause"}, "root")
    words.answer({"verb": "resume", "service": "web"}, "root")
    words.answer({"verb": "trigger", "service": "db"}, "root")
    words.answer({"verb": "forget", "service": "web"}, "root")
    assert services.done == [
        ("pause", ["web", "db"], "root"),
        ("resume", ["web"], "root"),
        ("trigger", "db", "root"),
        ("forget", "web", "root"),
    ]
    assert words.answer({"verb": "status"}, "root") == [{"of": ["web", "db"]}]
    assert words.answer({"verb": "reload"}, "root") == [{"event": "reloaded"}]


@pytest.mark.parametrize("verb", ["trigger", "forget"])
def test_what_is_done_to_one_is_never_done_to_all(verb: str) -> None:
    services = Recorded()
    with pytest.raises(InputError, match="no service is named") as caught:
        words_of(services).answer({"verb": verb}, "root")
    assert caught.value.hint == "one of web, db"
    assert services.done == []


@given(
    st.dictionaries(st.sampled_from(["verb", "service", "x"]) | st.text(), JSON)
    | st.fixed_dictionaries({"verb": st.sampled_from(["pause", "forget", "resume"]), "service": JSON.filter(bool)})
    | st.fixed_dictionaries({"verb": st.just("pause"), "x": JSON})
)
def test_a_message_that_is_not_meant_like_that_does_nothing(message: dict[str, object]) -> None:
    services = Recorded()
    with pytest.raises(InputError):
        words_of(services).answer(message, "root")
    assert services.done == []
