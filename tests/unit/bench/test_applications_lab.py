from __future__ import annotations

from pathlib import Path

import pytest
from bench.applications.guest import GuestApplication, needs_more
from bench.applications.lab import Row, applications, live_toml, main, table

from bayop.applications.definition import application_names, find_application
from bayop.applications.scope import cpu_s_of
from bayop.errors import UnsupportedError
from bayop.experiments.rig.record import LiveRecord, Point
from bayop.live.agent.address import Credentials
from bayop.live.file import LiveFile
from bayop.measurement import Measurement
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.testing.fakes import make_problem, papers_space

PROBLEM = make_problem(papers_space(), slo="p99<2ms")
HELD = {RX_USECS: 400, FREQ_MHZ: 1300}


def point(power_w: float, cpu_s: float, p99_us: float) -> Point:
    return Point.of({}, Measurement({"power_w": power_w, "service_cpu": cpu_s, "p99_us": p99_us, "qps": 500.0}))


def record(*, held: bool) -> LiveRecord:
    again = {
        "default": [point(20.0, 0.2, 1000.0)] * 6,
        "search": [point(15.0, 0.18, 1500.0)] * 6,
        "sweep": [point(16.0, 0.18, 1400.0)] * 6,
    }
    return LiveRecord(
        machine="the lab", slo="p99<2ms", objective="power", qps=500.0, seed=0, estimated=False, busy_before=0.0,
        default=point(20.0, 0.2, 1000.0), search=[point(15.0, 0.18, 1500.0)] * 3, held=HELD if held else None,
        again=again if held else {}, most_pairs=6, duration_s=90.4,
    )  # fmt: skip


def test_what_is_one_program_with_its_files_can_be_brought_into_the_lab() -> None:
    assert applications() == ["echo", "memcached", "nginx", "nodejs", "redis", "tpcc"]
    left = {name: needs_more(find_application(name)) for name in application_names()}
    assert left["postgresql"] == left["xapian"] == "it has to be prepared, with the host's programs"
    assert left["haproxy"] == "it needs /usr/sbin/nginx"
    with pytest.raises(UnsupportedError, match="the lab can't serve haproxy: it needs /usr/sbin/nginx"):
        GuestApplication(find_application("haproxy"))


def test_an_application_that_can_not_be_brought_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--agent-program", "agent", "--apps", "haproxy", "--out", "nowhere"]) == 2
    assert "there is no application for the lab 'haproxy'" in capsys.readouterr().err


def test_processor_time_is_that_of_the_control_group() -> None:
    assert cpu_s_of("usage_usec 2500000\nuser_usec 1\nsystem_usec 2") == 2.5


def test_the_search_is_a_file_that_bayop_tune_reads(tmp_path: Path) -> None:
    credentials = Credentials(tmp_path / "cert", tmp_path / "key", tmp_path / "ca")
    file = tmp_path / "live.toml"
    application = find_application("tpcc")
    text = live_toml(application, "https://127.0.0.1:9617", credentials, port=7777, qps=250.0, window_s=2.5)
    file.write_text(text, encoding="utf-8")
    live = LiveFile.read(file)
    assert (live.knobs, live.window_s, live.qps) == ((RX_USECS, FREQ_MHZ), 2.5, 250.0)
    assert live.credentials == credentials
    assert live.load is not None
    assert live.load.plan.servers == ("127.0.0.1:7777",)
    assert not live.load.store, "as its definition says"


def test_a_row_has_both_savings_with_their_intervals() -> None:
    row = Row.of(record(held=True), PROBLEM, 900.0)
    assert (row.verdict, row.p99_us, row.default_again_p99_us, row.pairs) == ("saves", 1500.0, 1000.0, 6)
    *_, last = table([row]).splitlines()
    assert last == (
        "| memcached | 500 | 900 us | 2,000 us | rx_usecs=400 freq_mhz=1300 | 1,500 us | 20.0 W "
        "| saves: 25.0 % (25.0 % to 25.0 %) | 400 us | 10.0 % (10.0 % to 10.0 %) | -6.2 % | 6 | 90 s |"
    )


def test_a_search_that_holds_nothing_says_so() -> None:
    row = Row.of(record(held=False), PROBLEM, 900.0)
    assert (row.verdict, row.power_saving, row.cpu_saving, row.pairs) == ("nothing held", None, None, 0)
    *_, last = table([row]).splitlines()
    assert last == "| memcached | 500 | 900 us | 2,000 us | nothing |  |  | nothing held |  |  |  |  | 90 s |"
