"""Windows of a live machine, with sensors and clients that say what a test wants them to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import pytest

from bayop.errors import InputError
from bayop.latency.base import Latency, Vantage, Window
from bayop.live.agent.client import AgentClient
from bayop.live.agent.messages import Reading
from bayop.live.precision import Precision
from bayop.live.senses import Senses
from bayop.live.service import PowerModel, Service
from bayop.live.trial_guard import TrialGuard
from bayop.slo import Slo
from bayop.space import Setting

GUARD = TrialGuard(Slo.parse("p99<100us"))


class Sensors:
    """An energy counter that goes on by a joule with every look, a second apart."""

    def __init__(self) -> None:
        self.looks = 0.0

    def sensors(self) -> tuple[Reading, ...]:
        self.looks += 1
        return (self._counter("energy_j", "machine", self.looks),)

    def _counter(self, name: str, at: str, value: float) -> Reading:
        return Reading(name, at, value, "counter", "a model", True, self.looks, None)  # noqa: FBT003


class StolenFrom(Sensors):
    """The same of a machine whose one processor is busy for half of the time, and taken away for a tenth."""

    def sensors(self) -> tuple[Reading, ...]:
        energy = super().sensors()
        shares = {"cpu_busy_s": 0.5, "cpu_idle_s": 0.5, "cpu_stolen_s": 0.1}
        return (*energy, *(self._counter(name, "cpu0", share * self.looks) for name, share in shares.items()))


class Clients:
    """Clients that see one window after the other; a window that is watched shows itself while it runs."""

    def __init__(self, windows: Sequence[Latency]) -> None:
        self.windows = list(windows)

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        sleep(window.duration_s)
        return self.windows.pop(0)


class WatchedClients(Clients):
    def recent(self) -> Latency | None:
        return self.windows[0] if self.windows else None


def latency_of(p99_us: float, *, qps: float = 1000.0, sd: float = 0.01) -> Latency:
    return Latency({"p99_us": p99_us, "qps": qps}, Vantage.CLIENT, {"p99_us": sd})


def senses(clients: Clients, *, guard: TrialGuard | None = None, precision: Precision | None = None) -> Senses:
    client = cast("AgentClient", Sensors())
    return Senses(client, clients, window_s=0.01, guard=guard, precision=precision)


def nap(_duration_s: float) -> None:
    """No test has to wait."""


def test_a_window_joins_sensors_and_clients() -> None:
    measurement = senses(Clients([latency_of(80.0)])).window({}, sleep=nap)
    assert measurement.quantities == {"power_w": 1.0, "energy_j": 1.0, "duration_s": 1.0, "p99_us": 80.0, "qps": 1000.0}
    assert measurement.relative_sd == {"p99_us": 0.01}


def test_a_trial_has_more_windows_while_its_latency_is_not_known_well() -> None:
    clients = Clients([latency_of(80.0, sd=0.2), latency_of(100.0, sd=0.01), latency_of(1.0)])
    trial = senses(clients, precision=Precision("p99_us", 0.3)).trial({}, qps=1000.0, sleep=nap)
    assert (trial["p99_us"], trial["energy_j"], len(clients.windows)) == (90.0, 2.0, 1)


def test_harm_that_is_seen_ends_the_window_and_is_a_lower_bound() -> None:
    clients = WatchedClients([latency_of(301.0), latency_of(1.0)])
    trial = senses(clients, guard=GUARD).trial({}, qps=1000.0, sleep=nap)
    assert trial.censored
    assert trial.cut_short == "p99 301 us, over 300 us"
    assert trial.quantities == {"p99_us": 301.0, "qps": 1000.0}
    assert len(clients.windows) == 2, "the window was not waited for"


@pytest.mark.parametrize(("p99_us", "cut_short"), [(80.0, None), (301.0, "p99 301 us, over 300 us")])
def test_a_window_and_what_was_cut_short_say_what_was_stolen(p99_us: float, cut_short: str | None) -> None:
    clients = WatchedClients([latency_of(p99_us)])
    measured = Senses(cast("AgentClient", StolenFrom()), clients, window_s=0.01, guard=GUARD)
    trial = measured.trial({}, qps=1000.0, sleep=nap)
    assert trial.cut_short == cut_short
    assert trial["stolen"] == pytest.approx(0.1)
    assert measured.stolen(1.0, sleep=nap) == pytest.approx(0.1)
    assert senses(clients).stolen(1.0, sleep=nap) is None, "it has no such counter"


def test_the_processor_time_of_a_service_is_counted_beside_the_sensors() -> None:
    took_s = iter([2.0, 3.0])
    service = Service(lambda: next(took_s, 3.25))
    counted = Senses(cast("AgentClient", Sensors()), Clients([latency_of(80.0)]), window_s=0.01, service=service)
    assert counted.window({}, sleep=nap)["service_cpu"] == 0.25


def test_the_model_of_a_service_stands_in_for_the_meter() -> None:
    model = PowerModel(idle_w=20.0, busy_w=60.0, cpus=2, polls=lambda: 0, poll_s=1e-5)
    service = Service(lambda: 0.0, model)
    measured = Senses(cast("AgentClient", Sensors()), Clients([latency_of(80.0)]), window_s=0.01, service=service)
    assert (measured.meter.source, measured.meter.estimated) == (model.source("/proc"), True)
    assert measured.window({}, sleep=nap)["power_w"] == 20.0


def test_a_load_that_leaves_its_band_ends_the_trial() -> None:
    clients = WatchedClients([latency_of(50.0, qps=700.0)])
    assert senses(clients, guard=GUARD).trial({}, qps=1000.0, sleep=nap).cut_short == "load 700 requests/s, not 1000"


def test_of_a_source_that_can_not_be_watched_the_guard_sees_whole_windows() -> None:
    slow, other = Clients([latency_of(900.0)]), Clients([latency_of(50.0, qps=1500.0)])
    assert not senses(slow, guard=GUARD).trial({}, qps=1000.0, sleep=nap).censored
    assert senses(other, guard=GUARD).trial({}, qps=1000.0, sleep=nap).cut_short == "load 1500 requests/s, not 1000"


class LookedAt:
    """Clients that are asked for windows of 2 s, and say what a look and a window have shown."""

    def __init__(self, look: Latency | InputError, window: Latency) -> None:
        self.asked: list[Window] = []
        self._look, self._window = look, window

    def measure(self, window: Window, *, sleep: Callable[[float], None]) -> Latency:
        sleep(0.0)
        self.asked.append(window)
        if not window.is_look:
            return self._window
        if isinstance(self._look, InputError):
            raise self._look
        return self._look


class Mute(LookedAt):
    """Clients that could say something while a window runs, and do not."""

    def recent(self) -> Latency | None:
        return None


@pytest.mark.parametrize("kind", [LookedAt, Mute])
@pytest.mark.parametrize(
    ("look", "asked_s", "cut_short"),
    [
        (latency_of(301.0), [2.0, 1.0], "p99 301 us, over 300 us"),
        (latency_of(300.0), [2.0, 1.0, 2.0], None),
        (InputError(wrong="too few requests"), [2.0, 1.0, 2.0], None),
    ],
)
def test_of_a_source_that_only_answers_the_first_second_is_asked_on_its_own(
    kind: type[LookedAt], look: Latency | InputError, asked_s: list[float], cut_short: str | None
) -> None:
    clients = kind(look, latency_of(50.0))
    measured = Senses(cast("AgentClient", Sensors()), clients, window_s=2.0, guard=GUARD)
    measured.window({}, sleep=nap)
    expected: list[float] = []
    trial = measured.trial({}, qps=1000.0, sleep=nap, expect=expected.append)
    assert [window.duration_s for window in clients.asked] == asked_s
    assert expected == asked_s[1:], "each is a step of its own to the lease"
    assert trial.cut_short == cut_short


def test_nothing_is_guarded_without_a_guard() -> None:
    assert not senses(WatchedClients([latency_of(9e6)])).trial({}, qps=1000.0, sleep=nap).censored


def test_a_sleep_that_raises_is_passed_on() -> None:
    def lost(_duration_s: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        senses(WatchedClients([latency_of(50.0)]), guard=GUARD).trial({}, qps=1000.0, sleep=lost)


@pytest.mark.parametrize(
    ("settings", "duration_s", "looks"),
    [
        ([{}, {}, {}], 3600.0, 4),
        ([{}, {"nic.rx_usecs": 50}, {}], 3600.0, 6),
        ([{}, {}, {}], 0.0, 6),
    ],
)
def test_windows_that_follow_at_once_share_what_the_sensors_show_between_them(
    settings: list[Setting], duration_s: float, looks: int
) -> None:
    client = Sensors()
    measured = Senses(cast("AgentClient", client), Clients([latency_of(80.0)] * len(settings)))
    before = client.looks
    for setting in settings:
        window = measured.window(setting, sleep=nap, duration_s=duration_s)
        assert window["duration_s"] == 1.0
    assert client.looks - before == looks
