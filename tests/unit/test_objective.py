from __future__ import annotations

import numpy as np
import pytest

from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.objective import OBJECTIVES, Objective
from bayop.slo import Slo

SLO = Slo.parse("p99<500us")
MET = Measurement({"power_w": 100.0, "energy_j": 2000.0, "p99_us": 400.0, "utilization": 0.5})
BROKEN = Measurement({"power_w": 100.0, "energy_j": 2000.0, "p99_us": 510.0, "utilization": 0.5})


@pytest.mark.parametrize(
    ("name", "constrained", "met", "broken"),
    [
        ("power", True, 100.0, 100.0),
        ("rp", False, 2000.0, 2000.0 * 11.0),
        ("latency", False, 400e-6, 510e-6),
        ("edp", True, 2000.0 * 400e-6, 2000.0 * 510e-6),
        ("power_w * max(p99_us / 500us, 1)", True, 100.0, 102.0),
    ],
)
def test_minimises(name: str, *, constrained: bool, met: float, broken: float) -> None:
    objective = Objective.parse(name, SLO)
    assert objective.constrained == constrained
    assert objective.of(MET) == pytest.approx(met)
    assert objective.of(BROKEN) == pytest.approx(broken)


def test_the_built_in_ones_follow_the_quantile_of_the_slo() -> None:
    objective = Objective.parse("latency", Slo.parse("p99.9<1ms"))
    assert objective.quantities == {"p999_us"}


def test_says_what_a_target_must_measure() -> None:
    assert Objective.parse("rp", SLO).quantities == {"energy_j", "p99_us"}
    assert Objective.parse("power", SLO).quantities == {"power_w"}


def test_computes_arrays() -> None:
    power = np.array([90.0, 100.0])
    assert np.array_equal(Objective.parse("power", SLO).value({"power_w": power}), power)


def test_a_quantity_is_an_objective_even_without_a_unit_in_its_name() -> None:
    assert Objective.parse("utilization", SLO).of(MET) == 0.5


def test_a_mistyped_name_lists_the_names() -> None:
    with pytest.raises(InputError, match="cannot use 'pwoer': an objective must be a name or an expression") as caught:
        Objective.parse("pwoer", SLO)
    assert all(name in str(caught.value.hint) for name in OBJECTIVES)


def test_a_missing_quantity_is_named() -> None:
    with pytest.raises(InputError, match="the target does not measure energy_j"):
        Objective.parse("edp", SLO).of(Measurement({"p99_us": 3.0}))


@pytest.mark.parametrize("name", [*OBJECTIVES, "power_w * p99_us"])
def test_describes_itself(name: str) -> None:
    assert Objective.parse(name, SLO).describe().startswith(("least", "the papers'", "energy-delay"))


@pytest.mark.parametrize("name", ["rp", "latency"])
@pytest.mark.parametrize("slo", ["p99<500us,p50<100us", "p99<500us,qps>590k"])
def test_an_objective_that_prices_one_limit_is_refused_for_several(name: str, slo: str) -> None:
    with pytest.raises(InputError, match=f"the objective {name} must have an SLO of one latency limit"):
        Objective.parse(name, Slo.parse(slo))
    assert Objective.parse("edp", Slo.parse(slo)).constrained
