"""The published fit: Adam, from several random starts at once. PyTorch is imported when such a fit starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bayop.errors import UnsupportedError
from bayop.model.cells import Array

if TYPE_CHECKING:
    from types import ModuleType

STEPS: Final = 2000
RATE: Final = 0.1
"""The authors take steps of 1, in zeta; these are in its logarithm."""


def minimise(loss: Callable[[Any, ModuleType], Any], starts: Array, *, steps: int = STEPS, rate: float = RATE) -> Array:
    """The best parameters that Adam passes through from any start, shape (p,).

    Adam treats every parameter on its own, so the sum of the starts' losses moves each start as if it were alone.

    Args:
        loss: From parameters (p, r, 1), one column a start, and PyTorch itself to losses (r,).
        starts: Shape (r, p).
        steps: How long.
        rate: Adam's learning rate.

    Raises:
        UnsupportedError: PyTorch is not installed.
    """
    torch = _torch()
    theta = torch.tensor(starts.T[:, :, None].copy(), dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([theta], lr=rate)
    best, lowest = np.array(starts, copy=True), np.full(len(starts), np.inf)
    for _ in range(steps):
        losses = loss(theta, torch)
        now = losses.detach().numpy()
        better = now < lowest
        best[better] = theta.detach().numpy()[:, better, 0].T
        lowest[better] = now[better]
        adam.zero_grad()
        losses.sum().backward()
        adam.step()
    return np.asarray(best[int(np.argmin(lowest))])


def _torch() -> ModuleType:
    try:
        import torch
    except ImportError as error:
        raise UnsupportedError(
            "a fit by Adam needs PyTorch",
            hint="pip install 'bayop[torch]'; --method least-squares finds the same minimum and needs nothing",
        ) from error
    return torch  # type: ignore[no-any-return,unused-ignore]
