from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from bayop.experiments.rig.record import LiveRecord, Point
from bayop.measurement import Measurement
from bayop.optimize.base import Problem
from bayop.report.live.report import about_map, caveats, headline, write_report
from bayop.space import DEFER_HARD_IRQS, FREQ_MHZ, GRO_FLUSH_TIMEOUT_US, RX_USECS
from bayop.testing.fakes import make_problem, papers_space

PROBLEM: Problem = make_problem(papers_space(), slo="p90<250us")


def point(timeout_us: float, polls: float, power_w: float, *, cut_short: str | None = None) -> Point:
    seen = {"power_w": power_w, "p90_us": 100 + timeout_us, "qps": 8000.0, "net_rx_per_s": 16000.0}
    quantities = seen | {"service_cpu": 0.2}
    return Point.of({GRO_FLUSH_TIMEOUT_US: timeout_us, DEFER_HARD_IRQS: polls}, Measurement(quantities, {}, cut_short))


def record() -> LiveRecord:
    held = {GRO_FLUSH_TIMEOUT_US: 120, DEFER_HARD_IRQS: 1}
    return LiveRecord(
        machine="a machine with <angles>",
        slo="p90<250us",
        objective="power",
        qps=8000.0,
        seed=0,
        estimated=True,
        busy_before=0.02,
        default=Point.of({}, Measurement({"power_w": 40.0, "p90_us": 90.0, "qps": 8000.0})),
        sweep=[point(t, n, 40 - t / 50, cut_short="harm" if t == 400 else None) for t in (0, 100, 400) for n in (1, 2)],
        search=[point(0, 1, 40.0), point(120, 1, 37.6), point(120, 1, 37.6)],
        stopped="converged",
        held=held,
        best={GRO_FLUSH_TIMEOUT_US: 100, DEFER_HARD_IRQS: 2},
        again={
            "default": [point(0, 1, 40.0)] * 6,
            "search": [point(120, 1, 37.6)] * 6,
            "sweep": [point(100, 2, 38.0)] * 6,
        },
        most_pairs=6,
    )


def test_the_page_stands_alone_and_says_that_power_is_estimated(tmp_path: Path) -> None:
    page = write_report(record(), PROBLEM, tmp_path, "0").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "http" not in page.replace("http://www.w3.org", "")
    assert "<angles>" not in page
    assert "power W, estimated" in page
    assert "it takes 1.1% less estimated power" in page
    assert "Against the default it saves 2.4 W estimated power (95 % CI 2.4 to 2.4), 6.0%; it saves 0.0%" in page
    assert {f.name for f in tmp_path.iterdir()} == {"report.html", "response.svg", "response.png", "map.svg", "map.png"}


def test_a_measured_power_is_not_called_estimated(tmp_path: Path) -> None:
    measured = replace(record(), estimated=False)
    page = write_report(measured, PROBLEM, tmp_path, "0").read_text(encoding="utf-8")
    assert "estimated" not in page


def test_another_machine_than_the_rig_has_its_own_knobs_link_and_caveat(tmp_path: Path) -> None:
    def at(delay_us: float, freq_mhz: float) -> Point:
        seen = {"power_w": freq_mhz / 100, "p90_us": 90 + delay_us, "qps": 500.0}
        return Point.of({RX_USECS: delay_us, FREQ_MHZ: freq_mhz}, Measurement(seen))

    sweep = [at(delay_us, freq_mhz) for delay_us in (0, 100) for freq_mhz in (1300, 2900)]
    again = {"default": [at(0, 2900)] * 6, "search": [at(100, 1300)] * 6}
    held = sweep[2].setting
    base = replace(record(), estimated=False, sweep=sweep, search=sweep[:1], held=held, best=held, again=again)
    emulated = replace(base, link="an emulated NIC", caveat="No frequency makes it slower.")
    page = write_report(emulated, PROBLEM, tmp_path, "0").read_text(encoding="utf-8")
    assert "power against nic.rx_usecs, a line for each value of cpu.freq_mhz" in page
    assert "across an emulated NIC" in page
    assert "veth" not in page
    assert "No frequency makes it slower." in page
    assert caveats(base) == []


def test_a_busy_machine_is_a_caveat() -> None:
    (estimated,) = caveats(record())
    assert "from the processor time of the service and of the polls of its device" in estimated
    assert "85% busy with other work" in caveats(replace(record(), busy_before=0.85))[-1]


def test_the_headline_says_what_was_not_found() -> None:
    assert headline(replace(record(), held=None), PROBLEM).startswith("No setting is trusted to meet p90<250us")
    assert headline(replace(record(), again={}), PROBLEM).endswith("napi.defer_hard_irqs 1.")


def test_a_power_that_is_always_the_same_saves_nothing() -> None:
    def alike(points: list[Point]) -> list[Point]:
        return [Point.of(p.setting, Measurement({**p.quantities, "power_w": 60.0 + 1e-12})) for p in points]

    of = record()
    (default,) = alike([of.default])
    again = {name: alike([*points]) for name, points in of.again.items()}
    same = replace(of, default=default, sweep=alike([*of.sweep]), search=alike([*of.search]), again=again)
    assert headline(same, PROBLEM).startswith(
        "Nothing is saved: every setting, and the default, takes 60.0 W estimated power. After 3 trials"
    )
    assert about_map(same).endswith("All dots are alike: every setting takes 60.0 W.")
    assert "alike" not in about_map(of)


def test_the_headline_begins_with_what_is_saved_or_is_not() -> None:
    assert headline(record(), PROBLEM).startswith("Against the default it saves 2.4 W")
    same = replace(record(), again={"default": [point(0, 1, 40.0)] * 6, "search": [point(0, 1, 40.0)] * 6})
    assert headline(same, PROBLEM).startswith("No significant saving against the default")
    late = replace(record(), again={"default": [point(0, 1, 40.0)] * 6, "search": [point(200, 1, 30.0)] * 6})
    assert headline(late, PROBLEM).startswith("It breaks p90<250us when measured again")
