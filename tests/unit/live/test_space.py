from __future__ import annotations

import pytest

from bayop.catalogue import knob_entry
from bayop.domains import Choices, Condition, Range, Steps
from bayop.errors import BayopError, InputError, UnsupportedError
from bayop.live.agent.messages import Cause, Domain, MachineKnob, MachineKnobs, MissingKnob, Numbers, Place, Reserved
from bayop.live.space import agent_space, doubts
from bayop.space import AUTO, DEFER_HARD_IRQS, FREQ_MHZ, GRO_FLUSH_TIMEOUT_US, QUEUES, RX_USECS
from bayop.twin.target import TwinTarget

WIDE = Steps(0, 8191, 1)
NO_CPUIDLE = Cause("the kernel has no cpuidle", None, None, "/sys/devices/system/cpu/cpuidle", None)


def message_of(domain: Steps | Choices) -> Domain:
    """The domain as an agent says it."""
    if isinstance(domain, Choices):
        return Domain(choices=domain.options)
    reserved = tuple(Reserved(int(low), int(high)) for low, high in domain.reserved)
    return Domain(Numbers(domain.low, domain.high, domain.step, reserved))


def knob(knob_id: str, *allowed: Steps | Choices | None) -> MachineKnob:
    """A knob in as many places as there are domains; None where the allow-list has nothing."""
    domains = [None if domain is None else message_of(domain) for domain in allowed]
    places = tuple(Place(f"place{i}", domain or message_of(WIDE), domain, 1, None) for i, domain in enumerate(domains))
    return MachineKnob(knob_id, "", None, None, places)


def machine(*knobs: MachineKnob) -> MachineKnobs:
    return MachineKnobs(knobs, (MissingKnob("idle.governor", NO_CPUIDLE),))


LAPTOP = machine(
    knob(RX_USECS, WIDE, None),
    knob(FREQ_MHZ, Choices((1300, 2100, 2900))),
    knob("power.cap_w", Steps(0, 120, 1e-6)),
    knob("cpu.epp", None),
)


def test_what_may_be_written_is_searched() -> None:
    space = agent_space(LAPTOP)
    assert space.ids == (RX_USECS, FREQ_MHZ, "power.cap_w")
    assert all(AUTO in k.values() for k in space.knobs)
    assert agent_space(machine(knob(FREQ_MHZ, Steps(1, 3, 1)), knob(RX_USECS, None))).ids == (FREQ_MHZ,)


def test_the_queues_of_a_nic_are_to_a_search_what_those_of_the_twin_are() -> None:
    twin = TwinTarget.from_profile("linux-memcached", qps=1e5, seed=1, knobs=[QUEUES]).space[QUEUES]
    entry = knob_entry(QUEUES)
    assert entry is not None
    queues = knob(QUEUES, Steps(1, max(twin.numbers()), 1))
    said = MachineKnob(QUEUES, "", None, entry["safest"], queues.places)
    live = agent_space(machine(said))[QUEUES]
    assert (live.numbers(), live.safest, live.unit) == (twin.numbers(), twin.safest, twin.unit)


def test_a_knob_with_very_many_values_is_searched_in_larger_steps() -> None:
    numbers = agent_space(LAPTOP)["power.cap_w"].numbers()
    assert 5000 < len(numbers) <= 10_000
    assert numbers[0] == 0
    assert 119.9 < numbers[-1] <= 120


def test_without_any_of_them_the_allow_list_is_named() -> None:
    with pytest.raises(UnsupportedError) as caught:
        agent_space(machine(knob(RX_USECS, None)))
    assert '[allow."nic.rx_usecs"]' in str(caught.value.hint)


@pytest.mark.parametrize(("polls", "doubtful"), [(0, True), (None, True), (2, False)])
def test_a_timeout_without_deferral_is_doubtful(polls: int | None, doubtful: bool) -> None:  # noqa: FBT001
    deferral = MachineKnob(
        DEFER_HARD_IRQS, "", None, "low", (Place("eth0", message_of(WIDE), message_of(WIDE), polls, None),)
    )
    server = machine(knob(GRO_FLUSH_TIMEOUT_US, WIDE), deferral)
    assert bool(doubts(server, agent_space(server, only=[GRO_FLUSH_TIMEOUT_US]))) == doubtful
    assert doubts(server, agent_space(server)) == []
    assert doubts(server, agent_space(server, only=[DEFER_HARD_IRQS])) == []


NIC = machine(
    knob("nic.adaptive_rx", Choices(("off", "on"))),
    knob(RX_USECS, Steps(0, 4, 2)),
    knob("nic.rx_frames", Steps(1, 2, 1)),
)


def test_a_delay_matters_only_while_the_driver_does_not_choose_it() -> None:
    settings = agent_space(NIC).without_auto().settings()
    assert len(settings) == 3 * 2 + 1
    assert [dict(s) for s in settings if s["nic.adaptive_rx"] == "on"] == [
        {"nic.adaptive_rx": "on", RX_USECS: AUTO, "nic.rx_frames": AUTO}
    ]


def test_what_the_kernel_has_matter_may_be_said_otherwise() -> None:
    frames = {"nic.rx_frames": (Condition(RX_USECS, Range(2, 4)),)}
    settings = agent_space(NIC, only_with=frames).without_auto().settings()
    assert [s["nic.rx_frames"] for s in settings if s[RX_USECS] == 0] == [AUTO]
    assert len(settings) == (1 + 2 * 2) + 1
    always: dict[str, tuple[Condition, ...]] = {"nic.rx_frames": (), RX_USECS: ()}
    assert len(agent_space(NIC, only_with=always).without_auto().settings()) == 2 * 3 * 2


@pytest.mark.parametrize(
    ("knob_id", "condition", "message"),
    [
        (FREQ_MHZ, Condition(RX_USECS, (0,)), "cpu.freq_mhz is not searched; a knob of only_with must be one that is"),
        (RX_USECS, Condition(FREQ_MHZ, (0,)), "cpu.freq_mhz is not searched; a knob of only_with must be one that is"),
        (RX_USECS, Condition("nic.adaptive_rx", ("of",)), "could never matter; a condition must have a value of"),
        ("nic.rx_frames", Condition(RX_USECS, Range(5, 9)), "could never matter; a condition must have a value of"),
        ("nic.adaptive_rx", Condition(RX_USECS, (0,)), "knobs must not matter only with each other"),
    ],
)
def test_a_condition_about_nothing_is_refused(knob_id: str, condition: Condition, message: str) -> None:
    with pytest.raises(InputError) as caught:
        agent_space(NIC, only_with={knob_id: (condition,)})
    assert message in str(caught.value)


def test_other_knobs_are_searched_when_they_are_named() -> None:
    space = agent_space(LAPTOP, only=["power.cap_w", RX_USECS], ranges={"power.cap_w": Range(60, 120, 5)})
    assert space.ids == ("power.cap_w", RX_USECS)
    assert space["power.cap_w"].numbers() == tuple(range(60, 121, 5))


def test_what_is_not_written_need_not_be_allowed() -> None:
    space = agent_space(LAPTOP, only=["cpu.epp", FREQ_MHZ], writes=False)
    assert (space["cpu.epp"].domain, space[FREQ_MHZ].domain) == (WIDE, Choices((1300, 2100, 2900)))
    with pytest.raises(UnsupportedError, match=r"the machine has no idle\.governor"):
        agent_space(LAPTOP, only=["idle.governor"], writes=False)
    with pytest.raises(UnsupportedError, match="allows none") as caught:
        agent_space(machine(knob(RX_USECS, None)), writes=False)
    assert str(caught.value.hint).startswith("name those")


@pytest.mark.parametrize(
    ("first", "second", "common"),
    [
        (Steps(0, 1000, 1), Steps(10, 500, 2), Steps(10, 500, 2)),
        (Steps(0, 1000, 2), Steps(0, 300, 2), Steps(0, 300, 2)),
        (Steps(0, 100, 10), Choices((5, 10, 30)), Choices((10, 30))),
        (Steps(0, 100, 1, ((1, 9),)), Steps(0, 50, 2), Steps(0, 50, 2, ((1, 9),))),
        (Steps(0, 100, 1, ((1, 9),)), Choices((0, 5, 10)), Choices((0, 10))),
        (Choices(("off", "on")), Choices(("on",)), Choices(("on",))),
    ],
)
def test_all_places_of_a_knob_are_set_alike(
    first: Steps | Choices, second: Steps | Choices, common: Steps | Choices
) -> None:
    for places in ((first, second), (second, first), (first, second, None)):
        assert agent_space(machine(knob(RX_USECS, *places)))[RX_USECS].domain == common


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Steps(0, 10, 1), Steps(20, 30, 1)),
        (Steps(0, 10, 2), Steps(1, 11, 2)),
        (Steps(0, 10, 2), Choices((1, 3))),
        (Choices(("off",)), Choices(("on",))),
    ],
)
def test_places_that_have_nothing_in_common_can_not_be(first: Steps | Choices, second: Steps | Choices) -> None:
    with pytest.raises(UnsupportedError, match="must have values in common") as caught:
        agent_space(machine(knob(RX_USECS, first, second)))
    assert "name fewer places" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("only", "error", "message", "hint"),
    [
        ("nic.rx_usec", InputError, "there is no knob 'nic.rx_usec'", "did you mean nic.rx_usecs?"),
        ("idle.governor", UnsupportedError, "the machine has no idle.governor", "no cpuidle"),
        ("cpu.epp", UnsupportedError, "cpu.epp is not on the agent's allow-list", '[allow."cpu.epp"]'),
        ("power.cap_w", InputError, "at most 10000 values", "choose a range of them: power.cap_w=LOW:HIGH:STEP"),
    ],
)
def test_a_knob_that_can_not_be_searched_says_why(only: str, error: type[InputError], message: str, hint: str) -> None:
    with pytest.raises(error) as caught:
        agent_space(LAPTOP, only=[only])
    assert message in caught.value.message
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(
    ("only", "chosen"),
    [("no.knob", None), ("idle.governor", None), ("cpu.epp", None), (RX_USECS, Range(0, 1e9)), ("power.cap_w", None)],
)
def test_what_is_wrong_with_a_knob_of_a_file_has_its_line(only: str, chosen: Range | None) -> None:
    with pytest.raises(BayopError) as caught:
        agent_space(LAPTOP, only=[only], ranges={only: chosen} if chosen else {}, place=lambda id_: f"l.toml:{id_}")
    assert caught.value.place == f"l.toml:{only}"


def test_a_knob_that_is_named_twice_is_a_mistake() -> None:
    with pytest.raises(InputError, match="each knob once"):
        agent_space(LAPTOP, only=[RX_USECS, RX_USECS])


def test_what_a_driver_keeps_for_itself_is_never_searched() -> None:
    igb = machine(knob(RX_USECS, Steps(0, 10_000, 1, ((1, 1), (2, 9)))))
    chosen = agent_space(igb, ranges={RX_USECS: Range(0, 20)})[RX_USECS]
    assert chosen.numbers() == (0, *range(10, 21))
    assert chosen.describe() == "0us to 20us in steps of 1us without 1us, 2us to 9us, or auto"
    for typed in ("3us", "9"):
        with pytest.raises(InputError, match="without 1us"):
            chosen.parse(typed)
    with pytest.raises(InputError, match="without 1us"):
        agent_space(igb, ranges={RX_USECS: Range(5, 20)})


def test_a_range_of_another_knob_is_refused() -> None:
    with pytest.raises(InputError, match="a range must be of a knob that is searched"):
        agent_space(LAPTOP, only=[RX_USECS], ranges={FREQ_MHZ: Range(1300, 2100)})
