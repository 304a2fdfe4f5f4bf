"""The first service that is observed is one that `bayop run` takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayop.daemon.file import DaemonFile
from bayop.errors import InputError
from bayop.machine.first_service import HEAD, first_service
from bayop.slo import Slo

PACKED = Path(__file__).resolve().parents[3] / "packaging" / "brain" / "bayop.toml"
SLO = Slo.parse("p99<1ms")


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
    file.write_text(head + first_service(services, latency, SLO)[1], encoding="utf-8")
    read = DaemonFile.read(file)
    (service,) = read.services
    assert (service.name, service.live.latency, service.mode, service.slo) == (name, source, "observe", SLO)
    assert str(read.state) == "/var/lib/bayop-run/bayop.db", "where the unit may write"


def test_without_a_source_there_must_be_a_service_that_can_be_probed() -> None:
    with pytest.raises(InputError, match="no memcached, Redis, nginx or Apache listens here"):
        first_service([], None, SLO)
