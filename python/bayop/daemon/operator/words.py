"""What an operator may say, and what is done about it. A word comes from outside: it is checked before it counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from bayop.daemon.services import Services
from bayop.errors import InputError

_FIELDS: Final = ("verb", "service")


class Words:
    """Does what operators say.

    Args:
        services: What they speak of.
        reload: Has the file read anew; the event that tells what came of it.
    """

    def __init__(self, services: Services, reload: Callable[[], dict[str, object]]) -> None:
        self._services = services
        self._verbs: Final[Mapping[str, Callable[[str | None, str], list[dict[str, object]]]]] = {
            "status": lambda name, _: services.standings(services.named(name)),
            "pause": lambda name, by: services.pause(services.named(name), by),
            "resume": lambda name, by: services.resume(services.named(name), by),
            "trigger": lambda name, by: services.trigger(self._one(name), by),
            "forget": lambda name, by: services.forget(self._one(name), by),
            "reload": lambda *_: [reload()],
        }

    def answer(self, message: Mapping[str, Any], by: str) -> list[dict[str, object]]:
        """The events that tell what came of a message, on the word of somebody.

        Raises:
            InputError: it is none, or names nobody.
            BayopError: it can't be done.
        """
        if unknown := [key for key in message if key not in _FIELDS]:
            raise InputError(wrong=f"there is no field {unknown[0]!r}", value=unknown[0])
        verb, name = message.get("verb"), message.get("service")
        if not isinstance(verb, str) or verb not in self._verbs:
            raise InputError(wrong=f"there is no verb {verb!r}", hint=f"one of {', '.join(self._verbs)}")
        if not (name is None or isinstance(name, str)):
            raise InputError("a service must be named by a text", value=repr(name))
        return self._verbs[verb](name, by)

    def _one(self, name: str | None) -> str:
        if name is None:
            raise InputError(wrong="no service is named", hint=f"one of {', '.join(self._services.named(None))}")
        return self._services.named(name)[0]
