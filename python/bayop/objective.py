"""What a search minimises.

All objectives are expressions over measured quantities (`bayop.expression`), the built-in ones too; they differ in
whether the SLO is a constraint beside them or already inside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bayop.errors import InputError
from bayop.expression import Expression, Values, is_quantity
from bayop.measurement import Measurement
from bayop.slo import Slo

# name: (expression; {q} is the quantile that the SLO bounds, whether the SLO is a constraint, what people read)
_BUILT_IN: Final[dict[str, tuple[str, bool, str]]] = {
    "power": ("power_w", True, "least power under the SLO"),
    "rp": (
        "energy_j * max(({q} - slo_us) / 1us + 1, 1)",
        False,
        "the papers' penalty Rp = energy x max(latency - SLA + 1, 1) ([D] Eq. 4)",
    ),
    "latency": ("{q}", False, "least latency, whatever it costs ([D] appendix A)"),
    "edp": ("energy_j * {q}", True, "energy-delay product under the SLO"),
}
OBJECTIVES: Final = tuple(_BUILT_IN)


@dataclass(frozen=True, slots=True)
class Objective:
    """A quantity to minimise.

    Attributes:
        name: `power`, `rp`, `latency`, `edp`, or the text of the user's expression.
        expression: What is computed from a measurement.
        slo: The latency objective that the expression may refer to as `slo_us`; of several limits that is the highest
            quantile's.
        constrained: Whether settings that break the SLO are out of the question. Objectives that price the
            breach themselves (rp) or ignore energy (latency) have no constraint.

    Example:
        >>> from bayop import Measurement, Objective, Slo
        >>> slo = Slo.parse("p99<500us")
        >>> Objective.parse("power", slo).describe()
        'least power under the SLO'
        >>> window = Measurement({"power_w": 80.0, "p99_us": 250.0})
        >>> Objective.parse("power_w * (p99_us / slo_us)", slo).of(window)
        40.0
    """

    name: str
    expression: Expression
    slo: Slo
    constrained: bool

    @classmethod
    def parse(cls, text: str, slo: Slo) -> Objective:
        """A built-in objective by its name, or a user's expression.

        Raises:
            InputError: neither a name nor a valid expression; or it prices one latency limit, and the SLO has more.
        """
        built_in = _BUILT_IN.get(text)
        if built_in is not None:
            template, constrained, _ = built_in
            if slo.is_several and not constrained:
                raise InputError(
                    f"the objective {text} must have an SLO of one latency limit",
                    value=str(slo),
                    hint="power and edp keep several",
                )
            return cls(text, Expression.parse(template.format(q=slo.quantity)), slo, constrained)
        if text.isidentifier() and "_" not in text and not is_quantity(text):
            raise InputError(
                "an objective must be a name or an expression",
                value=text,
                hint=f"names: {', '.join(OBJECTIVES)}; an expression: 'power_w * p99_us'",
            )
        return cls(text, Expression.parse(text), slo, constrained=True)

    @property
    def quantities(self) -> frozenset[str]:
        """The quantities that a target must measure for this objective."""
        return self.expression.names - {"slo_us"}

    def value(self, quantities: Mapping[str, Values]) -> Values:
        """The objective for quantities in the unit of their names; arrays give an array."""
        return self.expression({**quantities, "slo_us": self.slo.limit_us})

    def of(self, measurement: Measurement) -> float:
        """The objective of one measurement.

        Raises:
            InputError: the target did not measure a quantity that the objective needs.
        """
        return float(self.value({name: measurement[name] for name in self.quantities}))

    def describe(self) -> str:
        """What is minimised, for people."""
        return _BUILT_IN[self.name][2] if self.name in _BUILT_IN else f"least {self.name} under the SLO"
