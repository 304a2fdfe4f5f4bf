from __future__ import annotations

import os
from pathlib import Path

import pytest

from bayop.control.budget import ErrorBudget
from bayop.control.quiet import Quiet, parse_zone
from bayop.control.triggers import AnyOf, Breach, Clock, LoadChange
from bayop.daemon.file import DaemonFile, HoldTerms, state_of
from bayop.domains import Range
from bayop.errors import InputError
from bayop.live.agent.messages import Conditions, LatencyLimit, LoadBand
from bayop.optimize.grey_box.outputs import RESIDUAL_SCALES
from bayop.optimize.grey_box.prior import SHAPES
from bayop.optimize.server_class import ServerClass
from bayop.prior_file import PriorFile
from bayop.slo import Slo
from bayop.study.example import example_file

WHOLE = """\
state = "var/state.db"
stop_file = "stop"

[service.web]
agent = "https://web1:9617"
latency = "probe:memcached://web1"
slo = "p99<500us"
mode = "apply"
group = "shop"
objective = "edp"
qps = 5000

[service.web.tls]
certificate = "me.pem"
key = "me.key"
ca = "ca.pem"

[service.web.knobs]
"nic.rx_usecs" = "0:1ms:20us"

[service.web.window]
window_s = 5

[service.web.guard]
latency_factor = 2
headroom = 0.05

[service.web.policy]
triggers = "clock,load"
clock_s = 1800
load_change = 0.2
watch_s = 30
max_trials = 8
quiet = ["Mon-Fri 08:00-10:00"]
zone = "Europe/Berlin"

[service.web.budget]
requests_over = 0.001
period_s = 3600

[service.web.hold]
lease_s = 300
longest_s = 3600
silence_s = 90
latency_factor = 1.5
device = "eth0"
low_packets_per_s = 100
high_packets_per_s = 90000

[service.db]
agent = "unix:/run/bayop/agent.sock"
latency = "./p99.sh"
slo = "p90<1ms"
"""
LEAST = '[service.web]\nagent = "unix:/a"\nlatency = "./p99.sh"\nslo = "p99<500us"\n'


def read(tmp_path: Path, text: str) -> DaemonFile:
    path = tmp_path / "bayop.toml"
    path.write_text(text, encoding="utf-8")
    return DaemonFile.read(path)


def test_a_file_says_everything_about_several_services(tmp_path: Path) -> None:
    file = read(tmp_path, WHOLE)
    assert (file.state, file.stop_file) == (tmp_path / "var/state.db", tmp_path / "stop")
    web, db = file.services
    assert (web.name, web.mode, web.slo, web.objective.name) == ("web", "apply", Slo.parse("p99<500us"), "edp")
    live = web.live
    assert (live.agent, live.qps, live.window_s, live.headroom) == ("https://web1:9617", 5000, 5, 0.05)
    assert live.ranges == {"nic.rx_usecs": Range(0, 1000, 20)}
    assert live.credentials is not None
    assert web.trigger == AnyOf((Clock(1800), LoadChange(0.2)))
    assert (web.watch_s, web.max_trials) == (30, 8)
    assert web.hold == HoldTerms(300, 3600, 90, 1.5, LoadBand("eth0", 100, 90_000))
    assert web.quiet == Quiet.parse(["Mon-Fri 08:00-10:00"], parse_zone("Europe/Berlin"))
    assert web.budget == ErrorBudget(0.001, 3600)
    assert (db.name, db.mode) == ("db", "observe")
    assert (web.group, db.group) == ("shop", None)


def test_what_is_left_out_has_defaults(tmp_path: Path) -> None:
    file = read(tmp_path, LEAST)
    (web,) = file.services
    assert (file.state, file.stop_file) == (tmp_path / "bayop.db", None)
    assert (web.mode, web.objective.name, web.watch_s, web.max_trials) == ("observe", "power", 60, 15)
    assert web.trigger == AnyOf((LoadChange(0.1), Breach(600)))
    assert web.hold == HoldTerms(120, 86_400, None, 2, None)
    assert (web.quiet, web.budget) == (Quiet(), None)
    (own,) = read(tmp_path, LEAST + "[service.web.budget]\n").services
    assert own.budget == ErrorBudget(0.01, 86_400), "what p99 allows, in a day"


def test_the_state_is_found_in_a_file_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "bayop.toml"
    path.write_text(f"nonsense = 1\n{LEAST}", encoding="utf-8")
    assert state_of(path) == tmp_path / "bayop.db"
    path.write_text(f'state = "other.db"\n{LEAST}', encoding="utf-8")
    assert state_of(path) == tmp_path / "other.db"
    for said in ("3", '"."'):
        path.write_text(f"state = {said}\n", encoding="utf-8")
        with pytest.raises(InputError, match=r"bayop\.toml:1"):
            state_of(path)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (f"{LEAST}broken\n", "bayop.db"),
        (f'state = "other.db"\nstop_file = "st\n{LEAST}', "other.db"),
        (f'{LEAST}[service.web.policy\nstate = "other.db"\n', "bayop.db"),
        ("\udcff = 1\n", "bayop.db"),
        (None, "bayop.db"),
    ],
)
def test_the_state_is_found_in_what_is_no_toml_and_without_the_file(
    tmp_path: Path, text: str | None, state: str
) -> None:
    path = tmp_path / "bayop.toml"
    for name in ("bayop.db", "other.db"):
        (tmp_path / name).touch()
    if text is not None:
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
    assert state_of(path) == tmp_path / state


@pytest.mark.parametrize("text", ["broken\n", 'state = "bayo\n', 'state = ""\nbroken\n', None])
def test_a_state_that_can_not_be_found_out_is_to_be_named(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "bayop.toml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"bayop\.toml") as caught:
        state_of(path)
    assert caught.value.hint == "name the state itself, such as bayop.db"


def test_two_readings_of_one_file_are_equal_and_of_another_not(tmp_path: Path) -> None:
    assert read(tmp_path, WHOLE) == read(tmp_path, WHOLE)
    assert read(tmp_path, WHOLE).services != read(tmp_path, WHOLE.replace("edp", "power")).services
    assert read(tmp_path, f"# moved\n{WHOLE}").services == read(tmp_path, WHOLE).services


def test_the_agent_is_told_a_limit_only_where_it_is_fed() -> None:
    slo = Slo.parse("p99<500us")
    assert HoldTerms().conditions(slo, 0.5) == Conditions(longest_s=86_400)
    assert HoldTerms(silence_s=5).conditions(slo, 0.5) == Conditions(
        LatencyLimit("p99_us", 1000, 5, 0.5), longest_s=86_400
    )


def test_the_agent_guards_the_highest_of_several_quantiles() -> None:
    limit = HoldTerms(silence_s=5).conditions(Slo.parse("p50<100us,p99<500us"), 0.5).latency
    assert limit == LatencyLimit("p99_us", 1000, 5, 0.5)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("lattency = 1\n" + LEAST, 1, "there is no key 'lattency'"),
        (LEAST + "polcy = 1\n", 5, "there is no key 'polcy'"),
        (LEAST + '[load]\nserver = "web1"\n', 5, "there is no key 'load'"),
        (LEAST + '[service.web.load]\nserver = "web1"\n', 5, "there is no key 'load'"),
        (LEAST + "[service.web.window]\nwindow = 2\n", 6, "there is no key 'window'"),
        (LEAST + "[service.web.policy]\nwatch_s = 0\n", 6, "it must be a number from 0.1"),
        (LEAST + '[service.web.policy]\ntriggers = "load,moon"\n', 6, "there is no trigger 'moon'"),
        (LEAST + "[service.web.policy]\nclock_s = 60\n", 6, "clock_s is the value of a trigger that is not set"),
        (LEAST + '[service.web.policy]\nquiet = "08:00-10:00"\n', 6, "it must be a list of texts"),
        (LEAST + '[service.web.policy]\nquiet = ["08:00-10:00", "late"]\n', 6, "'late': hours must be days"),
        (LEAST + '[service.web.policy]\nzone = "Mars/Olympus"\n', 6, "there is no time zone 'Mars/Olympus'"),
        (LEAST + "[service.web.budget]\nrequests_over = 0\n", 6, "it must be a number from 1e-09 to 1"),
        (LEAST + "[service.web.hold]\nlease_s = 1\n", 6, "it must be a number from 2"),
        (LEAST + '[service.web.hold]\ndevice = "eth0"\n', 5, "low_packets_per_s, high_packets_per_s is missing"),
        (
            LEAST + '[service.web.hold]\ndevice = "eth0"\nlow_packets_per_s = 9\nhigh_packets_per_s = 9\n',
            8,
            "a band of load must reach upwards",
        ),
        (LEAST.replace('slo = "p99<500us"', ""), 1, "the service web has no slo"),
        (LEAST.replace("p99<500us", "p99<500"), 4, "the limit of an SLO must be a time with its unit"),
        (LEAST.replace("p99<500us", "p99<500us,p99<1ms"), 4, "an SLO must limit each of its quantiles once"),
        (LEAST.replace("p99<500us", "p99<1.2*default"), 4, "a service's SLO must not be relative to the default"),
        (LEAST.replace("p99<500us", "p99<500us,qps>1k"), 4, "a service's SLO must have no throughput"),
        (
            LEAST + '[service.web.policy]\ntriggers = "breach,schedule"\n',
            6,
            "the schedule must stand beside the trigger load",
        ),
        (LEAST + 'mode = "perhaps"\n', 5, "'perhaps' is no mode"),
        (LEAST + 'group = ""\n', 5, "it must be a text that is not empty"),
        (LEAST + 'group = "two caches"\n', 5, "a group must be up to 32 letters, digits, - and _"),
        (LEAST + 'group = ["cache"]\n', 5, "it must be a text"),
        (LEAST + 'objective = "beauty"\n', 5, "an objective must be a name or an expression"),
        (LEAST.replace("unix:/a", "http://a"), 2, "with mutual TLS"),
        (LEAST.replace('agent = "unix:/a"\n', ""), 1, "the file names no agent"),
        (LEAST.replace('latency = "./p99.sh"\n', ""), 1, "the file names no source of latency"),
        ("[service]\nweb = 3\n", 2, "web must be a table"),
        ("[services.web]\n", 1, "there is no key 'services'"),
        ('state = "."\n' + LEAST, 1, "a state must be a file"),
        ('state = ""\n' + LEAST, 1, "it must be a text that is not empty"),
        (LEAST + '[service.web.knobs]\n"power.cap" = "60:120:5"\n', 6, "there is no knob 'power.cap'"),
        (LEAST.replace("./p99.sh", "probe:memcachd://web1"), 3, "there is no protocol 'memcachd'"),
        (LEAST.replace("./p99.sh", "probe:memcached://web1/x"), 3, "a path must be that of http"),
        (LEAST.replace("./p99.sh", "prometheus:http://m:9090"), 3, "a Prometheus source must have a query"),
        (LEAST.replace("./p99.sh", "prometheus:https://m?query=x&token_file=/no/token"), 3, "cannot read /no/token"),
        (LEAST.replace("./p99.sh", "ebpf:"), 3, "a command must not be empty"),
        (
            LEAST + 'mode = "apply"\n' + LEAST.replace("service.web", "service.two") + 'mode = "apply"\n',
            7,
            "web and two both apply to unix:/a",
        ),
    ],
)
def test_a_mistake_has_a_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert f"bayop.toml:{line}" in caught.value.message
    assert message in caught.value.message


def test_one_agent_may_be_observed_by_several(tmp_path: Path) -> None:
    assert len(read(tmp_path, LEAST + 'mode = "apply"\n' + LEAST.replace("service.web", "service.two")).services) == 2


@pytest.mark.parametrize("text", ["", "[service]\n"])
def test_a_file_without_a_service_says_so(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="the file names no service"):
        read(tmp_path, text)


@pytest.mark.parametrize("text", ["service = 3\n", "[[service]]\nname = 'web'\n"])
def test_a_service_is_a_table_with_a_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="service must be a table"):
        read(tmp_path, text)


def test_a_name_is_short_and_plain(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a service's name must be up to 32 letters"):
        read(tmp_path, LEAST.replace("service.web", 'service."a b"'))


def test_a_stop_file_that_can_not_be_looked_up_counts_as_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bayop.toml"
    path.write_text(WHOLE, encoding="utf-8")
    file = DaemonFile.read(path)
    assert not file.is_stopped
    (tmp_path / "stop").symlink_to("nowhere")
    assert file.is_stopped

    def refuse(_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "lstat", refuse)
    assert file.is_stopped


@pytest.mark.parametrize("name", ["n" * 300, "\\u0000"])
def test_what_can_be_no_stop_file_is_refused_at_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bayop.toml"
    path.write_text(WHOLE.replace('stop_file = "stop"', f'stop_file = "{name}"'), encoding="utf-8")
    with pytest.raises(InputError, match="cannot read ") as caught:
        DaemonFile.read(path)
    assert caught.value.place == f"{path}:2"


def test_a_prior_lies_beside_the_file(tmp_path: Path) -> None:
    known = ServerClass(dict(SHAPES), dict(RESIDUAL_SCALES))
    prior = tmp_path / "my.prior.toml"
    prior.write_text(str(PriorFile(2, ("a.csv",), known)), encoding="utf-8")
    (web,) = read(tmp_path, LEAST + 'prior = "my.prior.toml"\n').services
    assert web.server_class is not None
    assert web.server_class.shapes["a"] == pytest.approx(known.shapes["a"])
    prior.write_text("servers = 0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"bayop.toml:5, .*my.prior.toml:1"):
        read(tmp_path, LEAST + 'prior = "my.prior.toml"\n')


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("a\\u0000b.db", r"none can be named '.*a\\x00b\.db'; a state must be a file"),
        ("pipe", "pipe is no regular file; a state must be a file"),
        (".", "is a folder; a state must be a file"),
        ("/dev/zero", "/dev/zero is no regular file; a state must be a file"),
    ],
)
def test_what_can_be_no_state_has_its_line(tmp_path: Path, state: str, why: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=why) as caught:
        read(tmp_path, f'state = "{state}"\n')
    assert str(caught.value.place).endswith("bayop.toml:1")


def test_advice_may_be_of_an_example(tmp_path: Path) -> None:
    def of(name: str) -> Path | None:
        (web,) = read(tmp_path, f'{LEAST}advise_from = "{name}"\n').services
        return web.advise_from

    assert of("example:memcached") == example_file("memcached")
    assert of("study.csv") == tmp_path / "study.csv"
    with pytest.raises(InputError, match="there is no example 'mem'") as caught:
        of("example:mem")
    assert str(caught.value.place).endswith("bayop.toml:5")


def test_quiet_hours_that_utc_does_not_have_have_their_line(tmp_path: Path) -> None:
    quiet = '[service.web.policy]\nzone = "America/New_York"\nquiet = ["2020-01-01 00:00/9999-12-31 23:59"]\n'
    with pytest.raises(InputError, match="a date must be one of the calendar") as caught:
        read(tmp_path, LEAST + quiet)
    assert str(caught.value.place).endswith("bayop.toml:7")
