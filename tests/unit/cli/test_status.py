"""`bayop status` for every state of an agent; with a real one it is tested end to end."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from tests.support.schemas import closed

from bayop.cli import main, status
from bayop.events import EVENTS, schema
from bayop.live.agent.messages import (
    AppliedBy,
    Cause,
    Conditions,
    FellBack,
    HeldKnob,
    HoldInForce,
    LatencyLimit,
    LeaseInForce,
    Status,
)

IDLE = Status("0.1.0", "apply", None, kept=False, applied_by=None, held=(), hold=None, damage=None)
CAP = HeldKnob("power.cap_w@intel-rapl:0/0", 120, 90, 90, "held", None)
HELD = replace(IDLE, kept=True, applied_by=AppliedBy("bayop tune by alice", 7500.0), held=(CAP,))


def output_of(capsys: pytest.CaptureFixture[str], state: Status) -> str:
    status._show("unix:/a.sock", state)
    return capsys.readouterr().out


def test_nothing_held_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    output = output_of(capsys, IDLE)
    assert "mode apply" in output
    assert "No lease: nobody may write." in output
    assert "Nothing is held: the machine has its own settings." in output
    assert status.is_sound(IDLE)


def test_what_is_kept_is_shown_with_who_and_since_when(capsys: pytest.CaptureFixture[str]) -> None:
    output = output_of(capsys, HELD)
    assert "Applied 2 h ago by bayop tune by alice; kept until bayop restore." in output
    row = next(line for line in output.splitlines() if CAP.knob in line)
    assert row.split() == [CAP.knob, "120W", "90W", "90W", "held"]
    assert status.is_sound(HELD)


def test_a_lease_is_shown_with_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    output = output_of(capsys, replace(IDLE, lease=LeaseInForce("bob", 30.0, 7.2)))
    assert "Lease: bob, for 30 s; it ends in 7 s unless it is renewed." in output


CONDITIONS = Conditions(LatencyLimit("p99_us", 500.0, 5.0))
GUARDED = HoldInForce({CAP.knob: 90}, {CAP.knob: 110}, CONDITIONS, 200.0, None, None, None)
FELL_BACK = FellBack("silence", "no p99_us for 5 s", 12.0, 0.003, None)


@pytest.mark.parametrize(
    ("hold", "line"),
    [
        (GUARDED, f"Held under conditions, for 3 min; what takes its place: {CAP.knob} 110W."),
        (replace(GUARDED, fall_back={}), "for 3 min; what takes its place: the machine's own settings."),
        (
            replace(GUARDED, fell_back=FELL_BACK),
            f"The agent fell back 12 s ago: no p99_us for 5 s. In effect: {CAP.knob} 110W.",
        ),
        (
            replace(GUARDED, fell_back=replace(FELL_BACK, error=Cause("the disk is full", None, None, None, None))),
            "could not fall back 12 s ago: no p99_us for 5 s; it restored the machine (the disk is full).",
        ),
    ],
)
def test_a_hold_is_shown_and_how_it_gave_way(capsys: pytest.CaptureFixture[str], hold: HoldInForce, line: str) -> None:
    guarded = replace(HELD, hold=hold)
    assert line in " ".join(output_of(capsys, guarded).split())
    event = status._event("unix:/a.sock", guarded)
    Draft202012Validator(closed(schema("status", EVENTS["status"]))).validate(event)


@pytest.mark.parametrize("state", ["stood_down", "latched"])
def test_what_is_not_as_it_was_left_is_no_sound_state(capsys: pytest.CaptureFixture[str], state: str) -> None:
    lost = replace(CAP, state=state, effective=None, reason="the kernel says no")
    unsound = replace(HELD, held=(lost,))
    output = output_of(capsys, unsound)
    assert not status.is_sound(unsound)
    for text in (state.replace("_", " "), "unknown", f"{CAP.knob}: the kernel says no", "bayop restore puts back"):
        assert text in output


def test_a_damaged_journal_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    unsound = replace(IDLE, damage="the journal was damaged")
    assert "Nothing is applied any more: the journal was damaged." in output_of(capsys, unsound)
    assert not status.is_sound(unsound)


@pytest.mark.parametrize(
    ("age_s", "text"), [(0.4, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (1e6, "12 d")]
)
def test_ages_are_for_people(age_s: float, text: str) -> None:
    assert status._ago(age_s) == text


@pytest.mark.parametrize("verb", ["status", "restore"])
def test_no_agent_is_said_with_what_to_do(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert main([verb, "--agent", "unix:/nowhere/agent.sock"]) == 4
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "unix:/nowhere/agent.sock" in captured.err
    assert "hint: start it on the server: systemctl start bayop-agent; docs/install.md installs it" in captured.err


def test_what_a_hostile_agent_says_is_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    escape = "\x1b[31mX"
    held = HeldKnob(f"cpu.epp@policy0{escape}", escape, escape, escape, "stood_down", escape)
    shown = output_of(capsys, replace(HELD, version=escape, damage=escape, held=(held,)))
    assert "\x1b" not in shown
    assert shown.count("x1b[31mX") == 8
