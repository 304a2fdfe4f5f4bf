from __future__ import annotations

import numpy as np

from bayop.experiments.idle.record import CoreUse
from bayop.report.idle_cores import OPERATING, drawing

USES = [
    CoreUse(qps, balancer, 60.0, {"C1": [share, 0.0], "C3": [0.0, 0.001], "C6": [0.0, 0.9]})
    for qps in (20e3, 5e3)
    for balancer, share in (("none", 0.75), ("yawn", 0.5))
]


def test_a_row_for_the_balancer_and_a_column_for_what_cores_do() -> None:
    axes = drawing(USES, "a server").figure.axes[:-1]
    assert [a.get_title() for a in axes[:3]] == [OPERATING, "C1", "C6"]
    assert len(axes) == 2 * 3
    operating = [np.asarray(a.collections[0].get_array()) for a in (axes[0], axes[3])]
    assert [shares.shape for shares in operating] == [(2, 2)] * 2
    assert [shares[0].tolist() for shares in operating] == [[25.0] * 2, [50.0] * 2]


def test_the_title_says_what_the_lowest_load_shows() -> None:
    title = drawing(USES, "a server").title
    assert "at 5K requests/s the first core operates 25.0% of its time without it and 50.0% with it" in title
    assert title.endswith("the last 9.9% and 9.9%")


def test_loads_stand_in_ascending_order() -> None:
    labels = [text.get_text() for text in drawing(USES, "a server").figure.axes[3].get_xticklabels()]
    assert labels == ["5", "20"]
