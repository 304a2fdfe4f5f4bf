"""Switchbacks through the controller, in virtual time: when they are, what they say, and what follows from it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from bench.switchback.controlled import SETTING, DayPlant, Played, play
from bench.switchback.coverage import WINDOW_S, WINDOWS, Day, simulate

from bayop.control.actions import Apply
from bayop.control.guard import Guard
from bayop.control.ledger import LedgerWindow
from bayop.control.notes import LetGo, Polished, SwitchedBack
from bayop.control.switchbacks import Switchbacks, SwitchbackTerms
from bayop.control.triggers import AnyOf, Breach, Clock
from bayop.errors import InputError
from bayop.measurement import Measurement
from bayop.search import Halt
from bayop.space import Setting
from bayop.switchback import Schedule, Switchback

HOUR_S, DAY_S = 3600.0, WINDOWS * WINDOW_S
TERMS = SwitchbackTerms(Schedule(WINDOW_S, most_share=0.03, least_share=0.01), seed="web")


def day(default_w: float, setting_w: float, noise_w: float = 0.5, seed: int = 0) -> Day:
    random = np.random.default_rng(seed)
    default, setting = (mean_w + noise_w * random.normal(size=WINDOWS) for mean_w in (default_w, setting_w))
    return Day(default, setting, default_w - setting_w)


def switched_back(played: Played) -> list[SwitchedBack]:
    return [note for note in played.notes if isinstance(note, SwitchedBack)]


def let_go(played: Played) -> list[LetGo]:
    return [note for note in played.notes if isinstance(note, LetGo)]


def test_now_and_then_the_default_has_a_window_between_two_of_the_setting() -> None:
    played = play(DayPlant([day(60.0, 50.0)]), Switchbacks(TERMS))
    notes = switched_back(played)
    assert 0.005 < played.share("switchback") < 0.035
    assert len(notes) == len([w for w in played.windows if w.phase == "switchback"]) > 12
    by_start = {w.start_s: w for w in played.windows}
    for note in notes:
        windows = [by_start[note.start_s + n * WINDOW_S] for n in range(3)]
        assert [(w.phase, w.setting) for w in windows] == [("hold", SETTING), ("switchback", None), ("hold", SETTING)]
        assert (note.power_w.before, note.power_w.default, note.power_w.after) == tuple(w.power_w for w in windows)
        assert note.end_s == windows[-1].end_s
    assert played.saving_until(DAY_S).low < 10.0 < played.saving_until(DAY_S).high
    assert played.controller.held == SETTING
    gaps = {after.start_s - before.start_s for before, after in pairwise(notes)}
    assert len(gaps) > 8, "at random times"


def test_no_gap_is_between_the_windows() -> None:
    played = play(DayPlant([day(60.0, 50.0)]), Switchbacks(TERMS))
    assert all(before.end_s == after.start_s for before, after in pairwise(played.windows))


def test_without_terms_there_is_none() -> None:
    assert play(DayPlant([day(60.0, 50.0)]), Switchbacks(None)).share("switchback") == 0.0


def test_they_become_fewer_when_the_saving_is_known_well() -> None:
    known = [Switchback(50.0, 60.0 + 0.1 * (n % 2), 50.0, 2000.0) for n in range(30)]
    sure, unsure = (play(DayPlant([day(60.0, 50.0)]), Switchbacks(TERMS, known)) for known in (known, []))
    assert sure.share("switchback") < 0.6 * unsure.share("switchback")


def test_a_restart_goes_on_where_it_was() -> None:
    whole = play(DayPlant([day(60.0, 50.0)]), Switchbacks(TERMS))
    half = [note for note in switched_back(whole) if note.end_s <= DAY_S / 2]
    again = Switchbacks(TERMS, [note.power_w for note in half])
    rest = play(DayPlant([day(60.0, 50.0)]), again, start_s=DAY_S / 2)
    assert switched_back(rest) == [n for n in switched_back(whole) if n.start_s > DAY_S / 2 + 2 * WINDOW_S]


def test_services_of_other_names_have_other_times() -> None:
    plants = DayPlant([day(60.0, 50.0)]), DayPlant([day(60.0, 50.0)])
    web, db = (
        {note.start_s for note in switched_back(play(plant, Switchbacks(replace(TERMS, seed=name))))}
        for plant, name in zip(plants, ("web", "db"), strict=True)
    )
    assert len(web & db) < len(web) / 4


@pytest.mark.parametrize("halt", ["quiet", "overspent"])
def test_while_nothing_may_be_tried_there_is_none(halt: Halt) -> None:
    plant = DayPlant([day(60.0, 50.0)])
    played = play(
        plant,
        Switchbacks(TERMS),
        halted=lambda now_s: None if now_s < 2 * HOUR_S or now_s >= 20 * HOUR_S else halt,
    )
    starts_s = [w.start_s for w in played.windows if w.phase == "switchback"]
    assert any(start_s >= 20 * HOUR_S for start_s in starts_s)
    assert not any(2 * HOUR_S <= start_s < 20 * HOUR_S for start_s in starts_s)


def test_none_follows_a_window_that_missed_the_slo() -> None:
    played = play(
        DayPlant([day(60.0, 50.0)], lambda at, setting: 600.0 if setting and at % 600.0 >= 300.0 else 200.0),
        Switchbacks(TERMS),
    )
    for before, window in pairwise(played.windows):
        assert window.phase != "switchback" or before.meets_slo


def test_a_default_that_misses_the_slo_is_left_alone_for_a_day() -> None:
    plant = DayPlant([day(60.0, 50.0, seed=n) for n in range(2)], lambda _, setting: 200.0 if setting else 900.0)
    played = play(plant, Switchbacks(TERMS))
    first, *more = [w.start_s for w in played.windows if w.phase == "switchback"]
    assert all(start_s >= first + DAY_S for start_s in more)
    assert played.controller.held == SETTING


def test_what_surely_costs_power_is_let_go_of_soon() -> None:
    played = play(DayPlant([day(50.0, 60.0)]), Switchbacks(TERMS))
    (note,) = let_go(played)
    assert note.setting == SETTING
    assert note.saving_w.switchbacks == 12
    assert note.saving_w.high < 0.0
    assert played.controller.held is None
    assert played.windows[-1].phase == "default"


def test_what_saves_nothing_is_let_go_of_after_enough_and_searched_again_after_a_rest() -> None:
    terms = replace(TERMS, enough=20, rest_s=DAY_S / 4)
    plant = DayPlant([day(50.0, 50.0, seed=n) for n in range(3)])
    played = play(plant, Switchbacks(terms), trigger=AnyOf((Clock(HOUR_S),)))
    first, *_ = let_go(played)
    assert first.saving_w.switchbacks >= 20
    assert not first.saving_w.significant
    gone_s = next(w.start_s for w in played.windows if w.phase == "default")
    tried_s = next(w.start_s for w in played.windows if w.phase == "trial" and w.start_s > gone_s)
    assert gone_s + terms.rest_s <= tried_s <= gone_s + terms.rest_s + HOUR_S


def test_a_rest_outlives_a_restart_and_ends_when_the_slo_is_missed() -> None:
    plant = DayPlant([day(60.0, 50.0)], lambda at, _: 900.0 if at >= 6 * HOUR_S else 200.0)
    played = play(plant, Switchbacks(TERMS, let_go_s=-HOUR_S), trigger=AnyOf((Breach(),)))
    assert next(w.start_s for w in played.windows if w.phase == "trial") == 6 * HOUR_S + WINDOW_S


def test_an_operator_does_not_wait_for_a_rest() -> None:
    plant = DayPlant([day(60.0, 50.0)])
    controller = play(plant, Switchbacks(TERMS, let_go_s=0.0)).controller
    assert controller.held is None
    controller.ask()
    assert controller.poll(HOUR_S, 5000.0) == Apply(SETTING)


def test_what_was_searched_in_a_rest_follows_its_triggers() -> None:
    plant = DayPlant([day(60.0, 50.0)], lambda at, setting: 900.0 if setting is None and at < HOUR_S else 200.0)
    played = play(plant, Switchbacks(TERMS, let_go_s=0.0), trigger=AnyOf((Breach(), Clock(6 * HOUR_S))))
    assert [w.start_s for w in played.windows if w.phase == "trial"] == [
        WINDOW_S, 6 * HOUR_S, 12 * HOUR_S, 18 * HOUR_S,
    ]  # fmt: skip


class AtOnce(Switchbacks):
    """Has a switchback after each window that may have one."""

    def is_due(self, now_s: float, last: LedgerWindow | None) -> bool:
        return last is not None and last.phase == "hold" and now_s == last.end_s


def test_what_ends_in_a_switchback_leaves_the_setting() -> None:
    class Ending(DayPlant):
        def measure(self, start_s: float, duration_s: float) -> Measurement:
            if self.setting is None and start_s > 0:
                raise KeyboardInterrupt
            return super().measure(start_s, duration_s)

    plant = Ending([day(60.0, 50.0)])
    play(plant, AtOnce(TERMS))
    assert plant.setting == SETTING


def test_a_saving_of_a_simulated_day_is_seen_and_kept() -> None:
    played = play(DayPlant([simulate(0.05, 1)]), Switchbacks(TERMS))
    assert played.saving_until(DAY_S).significant
    assert not let_go(played)


def test_polish_moves_a_notch_and_is_noted() -> None:
    better: Setting = {"power.cap_w": 85}
    plant = DayPlant([day(60.0, 50.0)])
    played = play(plant, Switchbacks(None), moves=[SETTING, better, better])
    assert played.notes == [Polished(better, SETTING, 5000.0, missed_slo=False)]
    assert played.controller.held == better


def test_a_notch_too_far_is_taken_back_at_once() -> None:
    further: Setting = {"power.cap_w": 70}
    plant = DayPlant([day(60.0, 50.0)], lambda _, setting: 900.0 if setting == further else 200.0)
    played = play(plant, Switchbacks(None), moves=[further] * 5, guard=Guard())
    assert played.notes == [
        Polished(further, SETTING, 5000.0, missed_slo=False),
        Polished(SETTING, further, 5000.0, missed_slo=True),
    ]
    assert [w.setting for w in played.windows[1:5]] == [SETTING, further, SETTING, SETTING]
    assert [w.phase for w in played.windows].count("trial") == 1


def test_nothing_is_polished_while_nothing_may_be_tried() -> None:
    plant = DayPlant([day(60.0, 50.0)])
    played = play(plant, Switchbacks(None), moves=[{"power.cap_w": 85}], halted=lambda at: "quiet" if at > 30 else None)
    assert not played.notes


@pytest.mark.parametrize(("enough", "rest_s"), [(5, 0.0), (2000, 0.0), (60, -1.0)])
def test_terms_that_are_none_are_refused(enough: int, rest_s: float) -> None:
    with pytest.raises(InputError, match="a saving must show"):
        replace(TERMS, enough=enough, rest_s=rest_s)
