"""What came into effect when a setting was written, and what had been asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from types import MappingProxyType

from bayop.domains import Value
from bayop.errors import DriftError
from bayop.live.agent.messages import Applied
from bayop.live.agent.transport import ConflictError
from bayop.space import AUTO, Setting, setting_key


class Effects:
    """Settings that were in effect, each with what was asked for then: a driver may not take what it shows."""

    def __init__(self) -> None:
        self._requests: dict[Hashable, Setting] = {}

    def request_of(self, setting: Setting) -> Setting | None:
        """What brings a setting into effect that was in effect before; None for any other."""
        return self._requests.get(setting_key(setting))

    def of(self, request: Setting, write: Callable[[Setting], Applied]) -> Setting:
        """Has a request written, and returns what is in effect.

        Raises:
            DriftError: the kernel did not take it, or the lease was lost; what was written is taken back.
        """
        try:
            applied = write(request)
        except ConflictError as error:
            # With the lease in our hands, whoever stands against us took a knob or the lease from us.
            raise DriftError.of(error) from error
        setting = MappingProxyType({knob_id: _in_effect(knob_id, value, applied) for knob_id, value in request.items()})
        self._requests[setting_key(setting)] = request
        return setting


def _in_effect(knob_id: str, request: Value, applied: Applied) -> Value:
    """The one value of a knob in all its places.

    Raises:
        DriftError: its places differ; a search needs one number.
    """
    if request == AUTO:
        # Handed back: at its original value in every place, whatever that is.
        return AUTO
    effective = applied.setting[knob_id]
    if effective is None:
        places = [c for c in applied.changes if c.knob.partition("@")[0] == knob_id]
        values = ", ".join(f"{c.knob} {c.effective}" for c in places)
        raise DriftError(
            wrong=f"{knob_id} has more than one value: {values}",
            place=f"asked for {request}",
            hint=f'their drivers round differently: name one of the places in [allow."{knob_id}"]',
        )
    return effective
