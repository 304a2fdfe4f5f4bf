"""What every model's fit offers: predictions at any cells, and parameters with their uncertainty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from bayop.model.cells import Array, Cells


@dataclass(frozen=True, slots=True)
class Parameter:
    """One fitted number.

    Attributes:
        name: Its symbol in the model's notation.
        unit: Its unit; empty for a pure number.
        value: Where the fit ended.
        standard_error: From the covariance at the minimum.
    """

    name: str
    unit: str
    value: float
    standard_error: float


class Fit(Protocol):
    """A model with parameters."""

    @property
    def quantities(self) -> Sequence[str]:
        """What it predicts, by the names that studies use."""

    def predict(self, cells: Cells) -> Mapping[str, Array]:
        """Every quantity at the cells' settings and loads, arrays of shape (n,); what was measured is not looked at."""

    def parameters(self, load: float | None) -> Sequence[Parameter]:
        """The parameters at a load, or those of all loads together."""

    @property
    def parameter_loads(self) -> Sequence[float | None]:
        """The loads with parameters of their own; (None,) where all loads share them."""


Fitter: TypeAlias = Callable[[Cells], Fit]
"""Fits a model to cells."""
