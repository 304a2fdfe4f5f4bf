"""What a cell of a sweep is measured under: requests at a rate, or one message that goes back and forth."""

from __future__ import annotations

from dataclasses import dataclass

from bayop.errors import InputError


@dataclass(frozen=True, slots=True)
class Load:
    """The load of an open or of a closed loop: one of the two.

    Attributes:
        qps: Open loop: offered load, in requests/s.
        message_bytes: Closed loop: size of the message.
    """

    qps: float | None = None
    message_bytes: int | None = None

    @property
    def columns(self) -> dict[str, float]:
        """The load under the name of its column of a study."""
        both = {"qps_offered": self.qps, "message_bytes": self.message_bytes}
        return {name: value for name, value in both.items() if value is not None}

    @property
    def amount(self) -> float:
        """The number alone, where the kind of the loop is known."""
        (amount,) = self.columns.values()
        return amount

    def rate(self) -> float:
        """The offered load of an open loop, in requests/s.

        Raises:
            InputError: it is a message size.
        """
        if self.qps is None:
            hint = "only the twin plays closed loops, such as the profile linux-netpipe"
            raise InputError("the load of this target must be a number of requests/s", value=str(self), hint=hint)
        return self.qps

    def __str__(self) -> str:
        return f"{self.message_bytes} B" if self.qps is None else f"{self.qps:g} qps"
