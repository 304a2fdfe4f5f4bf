"""The first service that is observed or advised is one that `bayop run` takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.live.test_space import WIDE, machine, message_of

from bayop.control.history import History
from bayop.daemon.advice.models import model_of
from bayop.daemon.file import DaemonFile
from bayop.domains import Choices, Steps
from bayop.errors import InputError
from bayop.live.agent.messages import Finding, MachineKnob, Place
from bayop.live.space import agent_space
from bayop.machine.first_files import Inventory, Nic
from bayop.machine.first_service import HEAD, first_service
from bayop.slo import Slo
from bayop.space import DEFER_HARD_IRQS, FREQ_MHZ, GRO_FLUSH_TIMEOUT_US, RX_USECS

PACKED = Path(__file__).resolve().parents[3] / "packaging" / "brain" / "bayop.toml"
SLO = Slo.parse("p99<1ms")
METER = Finding("power meter", "ok", "powercap: package-0", "", None)
BARE = Inventory("web1", nics=[], services=[], knobs={}, findings=[METER])
NIC = Nic("eth0", "ixgbe", has_default_route=True, rx_packets=9)
SERVER = replace(
    BARE,
    nics=[NIC],
    services=[("nginx", 80), ("memcached", 11212)],
    knobs={RX_USECS: {"eth0": (0.0, 8191.0, 1.0)}, FREQ_MHZ: {"policy0": None}},
)
GUEST = replace(
    SERVER, knobs={GRO_FLUSH_TIMEOUT_US: {"eth0": (0.0, 1e6, 1.0)}, DEFER_HARD_IRQS: {"eth0": (0.0, 2147483647.0, 1.0)}}
)


@pytest.mark.parametrize("head", [HEAD, PACKED.read_text(encoding="utf-8")], ids=["new", "packed"])
@pytest.mark.parametrize(
    ("services", "latency", "name", "source"),
    [
        ([("memcached", 11211)], None, "memcached", "probe:memcached://127.0.0.1:11211"),
        ([("nginx", 80), ("redis-server", 6379)], None, "nginx", "probe:http://127.0.0.1:80/"),
        ([("nginx", 80)], "./p99.sh", "nginx", "./p99.sh"),
        ([], 'sh -c "say µs"', "service", 'sh -c "say µs"'),
    ],
)
def test_it_is_observed(  # noqa: PLR0917 -- what pytest gives
    tmp_path: Path, head: str, services: list[tuple[str, int]], latency: str | None, name: str, source: str
) -> None:
    file = tmp_path / "bayop.toml"
    file.write_text(
        head + first_service(replace(BARE, services=services), latency, SLO, "observe")[1], encoding="utf-8"
    )
    read = DaemonFile.read(file)
    (service,) = read.services
    assert (service.name, service.live.latency, service.mode, service.slo) == (name, source, "observe", SLO)
    assert str(read.state) == "/var/lib/bayop-run/bayop.db", "where the unit may write"


def test_without_a_source_there_must_be_a_service_that_can_be_probed() -> None:
    with pytest.raises(InputError, match="no memcached, Redis, nginx or Apache listens here"):
        first_service(BARE, None, SLO, "observe")


def unallowed(knob_id: str, domain: Steps | Choices) -> MachineKnob:
    return MachineKnob(knob_id, "", None, None, (Place("eth0", message_of(domain), None, 1, None),))


@pytest.mark.parametrize("inventory", [SERVER, GUEST], ids=["server", "guest"])
def test_what_is_advised_has_all_that_advice_is_made_of(tmp_path: Path, inventory: Inventory) -> None:
    """With what the agent of a package allows, which is nothing."""
    file = tmp_path / "bayop.toml"
    file.write_text(HEAD + first_service(inventory, None, SLO, "advise")[1], encoding="utf-8")
    (service,) = DaemonFile.read(file).services
    assert (service.name, service.mode) == ("memcached", "advise"), "nginx has no twin"
    assert service.live.latency == "probe:memcached://127.0.0.1:11212"
    domains: dict[str, Steps | Choices] = {
        RX_USECS: WIDE,
        GRO_FLUSH_TIMEOUT_US: WIDE,
        DEFER_HARD_IRQS: WIDE,
        FREQ_MHZ: Choices((1300, 2100, 3800)),
    }
    bare = machine(*(unallowed(knob_id, domains[knob_id]) for knob_id in inventory.knobs))
    space = agent_space(bare, only=service.live.knobs, ranges=service.live.ranges, writes=False).without_auto()
    assert set(space.ids) == set(inventory.knobs)
    assert model_of(service, space, History()).name == "the twin linux-memcached"


@pytest.mark.parametrize(
    ("inventory", "message"),
    [
        (BARE, "none listens here"),
        (replace(SERVER, services=[("nginx", 80), ("redis-server", 6379)]), "nginx, redis-server has none"),
        (replace(SERVER, knobs={}), "this machine has no knob that advice could be about"),
    ],
)
def test_what_nothing_can_be_foretold_of_is_refused(inventory: Inventory, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        first_service(inventory, "./p99.sh", SLO, "advise")
    assert "observe" in str(caught.value.hint)
