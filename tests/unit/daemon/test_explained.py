"""Which setting of a service is explained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.daemon.test_report import HOLD
from tests.unit.daemon.test_services import files

from bayop.control.ledger import Search
from bayop.daemon.explained import explained
from bayop.domains import Steps
from bayop.errors import BayopError
from bayop.measurement import Measurement
from bayop.optimize.base import Observation
from bayop.space import Knob, Setting, Space
from bayop.state.store import Store

SPACE = Space((Knob("power.cap_w", Steps(60, 120, 5), safest="high"),))
FOUND: Setting = {"power.cap_w": 90}
POLISHED: Setting = {"power.cap_w": 85}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A search that has found 90 W, and what it has seen."""
    with Store(tmp_path / "bayop.db") as store:
        _fill(store)
        yield store


def _fill(store: Store) -> None:
    for cap_w in (120, 105, 90, 85):
        seen = {"p99_us": 100 * (120 / cap_w) ** 2, "power_w": float(cap_w), "qps": 5000.0}
        store.add_observation("web", Observation({"power.cap_w": cap_w}, Measurement(seen), 5000.0))
    store.add_search("web", Search(1, "start", 0.0, 100.0, 5000.0, (), "converged", FOUND))


@pytest.mark.parametrize(("start_s", "setting"), [(None, FOUND), (50.0, FOUND), (100.0, POLISHED)])
def test_what_is_held_is_explained_and_not_what_was_found(
    tmp_path: Path, store: Store, start_s: float | None, setting: Setting
) -> None:
    (file,) = files(tmp_path, "web")
    if start_s is not None:
        store.add_window("web", replace(HOLD, start_s=start_s, setting=POLISHED))
    what = explained(file, store.path, SPACE)
    assert (what.setting, what.search["number"], what.polished) == (setting, 1, setting == POLISHED)
    assert what.margin == pytest.approx(1 - 100 * (120 / setting["power.cap_w"]) ** 2 / 500, abs=0.05)  # type: ignore[operator]


def test_a_search_that_left_the_default_is_no_older_hold_s(tmp_path: Path, store: Store) -> None:
    (file,) = files(tmp_path, "web")
    store.add_window("web", replace(HOLD, start_s=150.0, setting=POLISHED))
    store.add_search("web", Search(2, "load +40%", 300.0, 400.0, 7000.0, (), "infeasible", None))
    with pytest.raises(BayopError, match="its last search left the default"):
        explained(file, store.path, SPACE)
