"""Why a service holds what it holds: the model's view of it, from what the state knows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from bayop.control.foresight import expected_by, foresee
from bayop.daemon.file import ServiceFile
from bayop.daemon.policy import policy_of
from bayop.errors import BayopError
from bayop.explain import Explanation, explain
from bayop.objective import Objective
from bayop.optimize import make_optimizer
from bayop.optimize.base import Problem
from bayop.slo import Slo
from bayop.space import Setting, Space
from bayop.state.records import known, read

_SHARES: Final = (0.8, 0.9, 1.1, 1.25)
"""How much tighter and looser SLOs are looked at."""
_SEED: Final = 0


@dataclass(frozen=True, slots=True)
class OtherSlo:
    """What another SLO would change.

    Attributes:
        slo: The SLO.
        setting: What would be held; None where nothing is trusted to meet it.
        change_w: How much more power that is expected to draw than what is held; None without a setting.
    """

    slo: Slo
    setting: Setting | None
    change_w: float | None


@dataclass(frozen=True, slots=True)
class Explained:
    """A setting, explained.

    Attributes:
        setting: What is held, or was last.
        search: The last search, as the state has it.
        polished: Whether that search has found another setting, which was polished since, or followed the load.
        problem: What it is explained for: the load of the last window, and what was seen near to it.
        explanation: The model's view of it and of its neighbours.
        margin: How far the latency that is expected lies below the SLO's limit, as a share of it.
        others: Tighter and looser SLOs.
    """

    setting: Setting
    search: dict[str, Any]
    polished: bool
    problem: Problem
    explanation: Explanation
    margin: float
    others: tuple[OtherSlo, ...]


def explained(service: ServiceFile, state: Path, space: Space) -> Explained:
    """Explains what a service holds, or has held last.

    Args:
        service: What the file says of it.
        state: The file of what is remembered.
        space: What is searched.

    Raises:
        InputError: the state can't be read.
        BayopError: there is nothing to explain.
    """
    searches = read(state, "search", service=service.name, last=1)
    history = known(
        state, service.name, knobs=space.ids, quantities={*service.slo.quantities, *service.objective.quantities}
    )
    setting = of_search = searches[0]["setting"] if searches else None
    held = read(state, "window", service=service.name, phase="hold", last=1)
    if held and of_search is not None and held[0]["start_s"] >= searches[0]["end_s"]:
        setting = held[0]["setting"]
    if setting is None or set(setting) != set(space.ids) or not history.known:
        wrong = (
            "its last search left the default" if searches and setting is None else "no search of these knobs is known"
        )
        raise BayopError(wrong=f"{service.name} holds no setting to explain: {wrong}", place=str(state))
    windows = read(state, "window", service=service.name, last=1)
    qps = windows[0]["qps"] if windows else searches[0]["qps"]
    problem = policy_of(service, space).problem(qps, history.near(qps))
    model = make_optimizer("grey-box", problem, seed=_SEED)
    explanation = explain(problem, setting, model.predict)
    if explanation is None:
        raise TypeError("the model was told something: that was checked above")
    expected, expect = explanation.prediction.quantities, expected_by(model)
    others = []
    for share in _SHARES:
        slo = service.slo.scaled(share)
        other = replace(problem, slo=slo, objective=Objective.parse(service.minimised, slo))
        found = foresee(other, expect, max_trials=service.max_trials, seed=_SEED).setting
        change_w = None if found is None else expect(found)["power_w"] - expected["power_w"]
        others.append(OtherSlo(slo, found, change_w))
    margin = min(1 - expected[limit.quantity] / limit.limit_us for limit in service.slo.limits)
    return Explained(setting, searches[0], setting != of_search, problem, explanation, margin, tuple(others))
