"""What is advised, of a server in a few formulas, and what it is made of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.studies import study_rows, write_study

from bayop.control.history import History
from bayop.control.ledger import LedgerWindow
from bayop.daemon.advice.advice import Advice, advise
from bayop.daemon.advice.models import Model, model_of
from bayop.daemon.file import DaemonFile, ServiceFile
from bayop.domains import Steps
from bayop.errors import InputError
from bayop.optimize import make_optimizer
from bayop.optimize.base import Observation, Problem
from bayop.search import run_search
from bayop.space import Knob, Setting, Space
from bayop.testing.fakes import FakeServer, papers_space

FILE = """
[service.web]
agent = "unix:/run/bayop/agent.sock"
latency = "sh p99.sh"
slo = "p99<300us"
mode = "advise"
"""
SPACE = papers_space()


def file_of(tmp_path: Path, more: str = "") -> ServiceFile:
    path = tmp_path / "bayop.toml"
    path.write_text(FILE + more, encoding="utf-8")
    (file,) = DaemonFile.read(path).services
    return file


def searched(file: ServiceFile, *loads_qps: float) -> History:
    """What searches at some loads have left."""
    history = History()
    for qps in loads_qps:
        server = FakeServer(SPACE, qps=qps, noise=0.2, seed=1)
        problem = Problem(SPACE, file.slo, file.objective, qps, history.near(qps))
        found = run_search(server, problem, make_optimizer("grey-box", problem, seed=0), max_trials=15)
        for trial in found.trials:
            history.add(Observation(trial.setting, trial.measurement, qps))
    return history


def defaults(qps: float, count: int = 3) -> list[LedgerWindow]:
    baseline = FakeServer(SPACE, qps=qps, noise=0.0).baseline()
    seen = baseline["power_w"], baseline["p99_us"]
    return [LedgerWindow(60.0 * n, 60.0, "default", None, qps, *seen, 0.0, meets_slo=True) for n in range(count)]


def truth(setting: Setting | None, qps: float) -> dict[str, float]:
    server = FakeServer(SPACE, qps=qps, noise=0.0)
    assert setting is not None
    server.apply(setting)
    return dict(server.measure().quantities)


def advised(file: ServiceFile, model: Model, qps: float) -> Advice:
    return advise(file, SPACE, model, defaults(qps))


def test_what_was_learned_at_other_loads_foretells_what_a_search_would_save(tmp_path: Path) -> None:
    file = file_of(tmp_path)
    history = searched(file, 3e5, 4e5, 5e5)
    advice = advised(file, model_of(file, SPACE, history), 4.4e5)
    measured = truth(advice.setting, 4.4e5)
    power = advice.expected["power_w"]
    assert measured["p99_us"] < 300
    assert power.value == pytest.approx(measured["power_w"], rel=0.02)
    assert 0 < power.relative_sd < 0.05
    saved_w, low_w, high_w = advice.saving_w
    assert saved_w == pytest.approx(advice.default_w - power.value)
    assert low_w < advice.default_w - measured["power_w"] < high_w
    assert (advice.first is None) == (advice.trials == 0)
    assert f"advice at 440000 qps, from {len(history.known)} observations of the state: would " in advice.line


def test_where_nothing_saves_the_default_would_stay(tmp_path: Path) -> None:
    file = file_of(tmp_path)
    model = model_of(file, SPACE, searched(file, 4e5))
    cheap = [LedgerWindow(0.0, 60.0, "default", None, 4e5, 30.0, 200.0, 0.0, meets_slo=True)]
    advice = advise(file, SPACE, model, cheap)
    assert (advice.setting, advice.saving_w) == (None, (0.0, 0.0, 0.0))
    assert advice.line.endswith("the default would stay")
    assert advice.fields["predicted"] == {}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    rows = study_rows(delays=(2, 50, 100, 150, 200), freqs=(1300, 1700, 2100, 2500, 2900), qps=4e5)
    return write_study(tmp_path / "study.csv", rows)


def test_a_study_foretells_it_too(tmp_path: Path, study: Path) -> None:
    file = file_of(tmp_path, f'advise_from = "{study.name}"')
    assert file.advise_from == study
    model = model_of(file, SPACE, History())
    assert model.name == "25 observations of study.csv"
    advice = advised(file, model, 4.2e5)
    measured = truth(advice.setting, 4.2e5)
    assert measured["p99_us"] < 300
    assert advice.expected["power_w"].value == pytest.approx(measured["power_w"], rel=0.02)
    both = model_of(file, SPACE, searched(file, 5e5))
    assert both.name.startswith("25 observations of study.csv, and ")


def test_a_twin_is_brought_to_the_level_of_this_server(tmp_path: Path) -> None:
    file = file_of(tmp_path, 'twin = "linux-memcached"')
    advice = advised(file, model_of(file, SPACE, History()), 4e5)
    assert advice.setting is not None
    power = advice.expected["power_w"]
    assert 0 < power.value < advice.default_w
    assert power.relative_sd > 0.05, "it is as unsure as the twin's default is off"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("", "the state knows nothing of what settings of web do"),
        ('advise_from = "none.csv"', "none.csv"),
        ('twin = "linux-nothing"', "there is no profile 'linux-nothing'"),
        ('twin = "linux-netpipe"', "must be a message size"),
    ],
)
def test_without_anything_to_make_it_of_there_is_no_advice(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model_of(file_of(tmp_path, more), SPACE, History())


def test_a_study_of_other_knobs_is_none_for_this_service(tmp_path: Path, study: Path) -> None:
    file = file_of(tmp_path, f'advise_from = "{study.name}"')
    caps = Space((Knob("power.cap_w", Steps(60, 120, 5), safest="high"),))
    with pytest.raises(InputError, match=r"trials of Linux that set power\.cap_w"):
        model_of(file, caps, History())


def test_a_study_and_a_twin_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="advice must be made of a study or of a twin") as caught:
        file_of(tmp_path, 'advise_from = "study.csv"\ntwin = "linux-memcached"')
    assert str(caught.value.place).endswith("bayop.toml:8")


def test_what_says_nothing_of_the_saving_is_not_said_as_advice(tmp_path: Path) -> None:
    file = file_of(tmp_path, 'twin = "linux-memcached"')
    far = [replace(window, power_w=10 * window.power_w) for window in defaults(4e5) if window.power_w is not None]
    advice = advise(file, SPACE, model_of(file, SPACE, History()), far)
    assert not advice.is_informed
    why = "it is too far from this machine, or this load, to advise"
    assert advice.line.startswith(f"no advice at 400000 qps, from the twin linux-memcached: {why}: power_w")
    assert "saves" not in advice.line
    near = advised(file_of(tmp_path), model_of(file_of(tmp_path), SPACE, searched(file, 3e5, 4e5, 5e5)), 4.4e5)
    assert near.is_informed
    unsure = {"power_w": replace(near.expected["power_w"], relative_sd=0.5)}
    assert not replace(near, expected={**near.expected, **unsure}).is_informed, "of the saving nothing is known"
    assert replace(near, setting=None, expected={}).is_informed, "the default is known"
