"""The published fit: Adam, from several random starts at once. PyTorch is imported when such a fit starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bayop.errors import UnsupportedError
from bayop.model.cells import Array

if TYPE_CHECKING:
    from types import ModuleType

STEPS: Final = 2000
RATE: Final = 0.1
"""The authors take steps of 1, in zeta; these are in its logarithm."""
_PATIENCE: Final = 100
_PROGRESS: Final = 1e-12


def minimise(loss: Callable[..., Any], data: Sequence[Array], starts: Array, *, steps: int = STEPS) -> Array:
    """The best parameters that Adam passes through from any start, shape (p,).

    Adam treats every parameter on its own, so the sum of the starts' losses moves each start as if it were alone. It
    ends early when no start has found anything better for a while.

    Args:
        loss: From parameters (p, r, 1), one column a start, and the data as tensors to losses (r,).
        data: What the loss is about.
        starts: Shape (r, p).
        steps: How long at most.

    Raises:
        UnsupportedError: PyTorch is not installed.
    """
    torch = _torch()
    tensors = [torch.tensor(array) for array in data]
    theta = torch.tensor(starts.T[:, :, None].copy(), dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([theta], lr=RATE)
    best, lowest = np.array(starts, copy=True), np.full(len(starts), np.inf)
    idle = 0
    for _ in range(steps):
        losses = loss(theta, *tensors)
        now = losses.detach().numpy()
        idle = 0 if (now < lowest * (1.0 - _PROGRESS)).any() else idle + 1
        better = now < lowest
        best[better] = theta.detach().numpy()[:, better, 0].T
        lowest[better] = now[better]
        if idle > _PATIENCE:
            break
        adam.zero_grad()
        losses.sum().backward()
        adam.step()
    return np.asarray(best[int(np.argmin(lowest))])


def _torch() -> ModuleType:
    try:
        import torch
    except ImportError as error:
        raise UnsupportedError(
            "a fit by Adam must have PyTorch",
            wrong="PyTorch is not installed",
            hint="pip install 'bayop[torch]'; the method least-squares finds the same minimum and needs nothing",
        ) from error
    return torch  # type: ignore[no-any-return,unused-ignore]
