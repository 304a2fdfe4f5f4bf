from __future__ import annotations

import numpy as np
from tests.unit.model.synthetic import LOADS_QPS, SLO, TYPICAL_DELAY_US, grey_box_cells, grey_box_theta

from bayop.model.servers import servers
from bayop.optimize.grey_box.learn import learn, lesson
from bayop.optimize.grey_box.prior import SHAPES, AnalyticPrior
from bayop.space import FREQ_MHZ, RX_USECS, fastest_setting


def test_each_load_is_a_server_with_its_fastest_setting_first() -> None:
    cells = grey_box_cells()
    taught = list(servers(cells))
    assert [problem.qps for problem, _ in taught] == list(LOADS_QPS)
    for problem, observations in taught:
        assert observations[0].setting == fastest_setting(problem.space) == {RX_USECS: 20.0, FREQ_MHZ: 2900.0}
        assert len(observations) == (cells.qps == problem.qps).sum()
        assert problem.slo == SLO


def test_what_was_not_measured_is_left_out() -> None:
    cells = grey_box_cells()
    cells.utilization[3] = np.nan
    shown = [set(o.measurement.quantities) for _, observations in servers(cells) for o in observations]
    assert sum("utilization" not in names for names in shown) == 1
    assert all({"power_w", "p99_us"} <= names for names in shown)


def test_its_class_lies_between_its_parameters_and_those_of_any_server() -> None:
    known = learn([lesson(*server) for server in servers(grey_box_cells())]).shapes
    names = AnalyticPrior(SLO.quantile, TYPICAL_DELAY_US).names
    truth = float(grey_box_theta()[names.index("logit y")])
    assert truth < known["logit y"].mean < SHAPES["logit y"].mean
