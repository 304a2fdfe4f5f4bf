from __future__ import annotations

from pathlib import Path

import pytest

from bayop.domains import Condition, Range
from bayop.errors import InputError
from bayop.latency.open_loop import OpenLoopProbe
from bayop.live.file import LiveFile
from bayop.load.plan import OpenLoop
from bayop.load.tls import Tls
from bayop.slo import Slo
from bayop.space import RX_USECS

SLO = Slo.parse("p99<500us")

WHOLE = """\
agent = "https://web1:9617"
latency = "probe:memcached://web1"

[tls]
certificate = "me.pem"
key = "me.key"
ca = "ca.pem"

[knobs]
"nic.rx_usecs" = "0:1ms:20us"
"cpu.freq_mhz" = "all"

[load]
server = "web1"
qps = 200000
workload = "etc"
update = 0.1
connections = 16
through = "ssh 'client 1'"
store = false

[window]
window_s = 5
settle_s = 1.5
interval = 0.05
most_windows = 4

[guard]
latency_factor = 2
load_band = 0.1
headroom = 0.05

[host]
patience_s = 5
"""
LEAST = 'agent = "unix:/run/bayop/agent.sock"\nlatency = "./p99.sh"\n'


def read(tmp_path: Path, text: str) -> LiveFile:
    path = tmp_path / "live.toml"
    path.write_text(text, encoding="utf-8")
    return LiveFile.read(path)


def test_a_file_says_everything_about_a_live_search(tmp_path: Path) -> None:
    live = read(tmp_path, WHOLE)
    assert live.knobs == ("nic.rx_usecs", "cpu.freq_mhz")
    assert live.ranges == {"nic.rx_usecs": Range(0, 1000, 20)}
    assert live.credentials is not None
    assert live.credentials.ca == Path("ca.pem")
    assert live.load is not None
    plan = live.load.plan
    assert plan.servers == ("web1:11211",)
    assert isinstance(plan.schedule, OpenLoop)
    assert (plan.schedule.pieces[0].qps, plan.schedule.gaps) == (200_000, "fb_ia")
    assert (plan.workload.key_size, plan.workload.update, plan.connections) == ("fb_key", 0.1, 16)
    assert live.load.through == ("ssh", "client 1")
    assert not live.load.store
    assert (live.qps, live.window_s, live.settle_s, live.interval, live.most_windows) == (200_000, 5, 1.5, 0.05, 4)
    assert (live.latency_factor, live.load_band, live.headroom, live.patience_s) == (2, 0.1, 0.05, 5)


def test_a_file_says_which_knobs_matter_only_with_others(tmp_path: Path) -> None:
    text = """[only_with]
    "cpu.epp" = { "cpu.freq_mhz" = "auto, 2.9GHz" }
    "nic.rx_frames" = { "nic.adaptive_rx" = "off", "nic.rx_usecs" = "1:1ms" }
    "idle.max_latency_us" = {}
    """
    assert read(tmp_path, LEAST + text).only_with == {
        "cpu.epp": (Condition("cpu.freq_mhz", ("auto", 2900)),),
        "nic.rx_frames": (Condition("nic.adaptive_rx", ("off",)), Condition(RX_USECS, Range(1, 1000))),
        "idle.max_latency_us": (),
    }


def test_what_is_left_out_has_the_defaults_of_a_search(tmp_path: Path) -> None:
    live = read(tmp_path, LEAST)
    assert (live.knobs, live.load, live.credentials, live.qps) == ((), None, None, None)
    assert (live.window_s, live.most_windows, live.latency_factor, live.load_band) == (None, 3, 3.0, 0.2)
    assert (live.headroom, live.patience_s) == (0.0, 60.0)


def test_a_load_in_tls_believes_what_the_file_says(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("a certificate", encoding="ascii")
    load = '[load]\nserver = "web1"\nqps = 1\nprotocol = "http"\ntls = true\n'
    signed = read(tmp_path, f'{LEAST}{load}cacert = "{tmp_path}/ca.pem"\n').load
    assert signed is not None
    assert (signed.plan.servers, signed.plan.tls) == (("web1:443",), Tls("a certificate"))
    unsigned = read(tmp_path, f"{LEAST}{load}insecure = true\n").load
    assert unsigned is not None
    assert unsigned.plan.tls == Tls(None)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (LEAST + "lattency = 1\n", 3, "there is no key 'lattency'"),
        (LEAST + "[windows]\n", 3, "there is no key 'windows'"),
        (LEAST + "[window]\n# how long\nwindow = 2\n", 5, "there is no key 'window'"),
        (LEAST + "guard = 3\n", 3, "guard must be a table"),
        (LEAST + "[knobs]\n'power.cap' = '60:120'\n", 4, "there is no knob 'power.cap'"),
        (LEAST + "[knobs]\n'nic.rx_usec' = 'all'\n", 4, "there is no knob 'nic.rx_usec'"),
        (LEAST + "[only_with]\n'nic.rx_frame' = { 'nic.adaptive_rx' = 'off' }\n", 4, "there is no knob 'nic.rx_frame'"),
        (LEAST + "[only_with]\n'nic.rx_frames' = { 'nic.adaptive' = 'off' }\n", 4, "there is no knob 'nic.adaptive'"),
        (LEAST + "[only_with]\n'nic.rx_frames' = 'nic.adaptive_rx'\n", 4, "it must be a table"),
        (LEAST + "[only_with]\nnic.rx_frames = { 'nic.adaptive_rx' = 'off' }\n", 4, "a knob's id must be in quotes"),
        (LEAST + "[only_with]\n'cpu.epp' = { 'cpu.freq_mhz' = '1:2:1' }\n", 4, "a condition must be LOW:HIGH"),
        (LEAST + "[only_with]\n'cpu.epp' = { 'cpu.freq_mhz' = 'auto,,' }\n", 4, "a condition must be a value"),
        (LEAST + "[only_with]\n'cpu.epp' = { 'cpu.freq_mhz' = '50us' }\n", 4, "it must be a frequency"),
        (LEAST + "[only_with]\n'cpu.epp' = { 'nic.rx_frames' = '5x' }\n", 4, "a condition must be made of words and"),
        (LEAST + "[agent]\n", 3, "TOML"),
        (LEAST + "[window]\nwindow_s = '2s'\n", 4, "it must be a number from 0.001 to 3600"),
        (LEAST + "[window]\nmost_windows = 0\n", 4, "a whole number from 1"),
        (LEAST + "[guard]\nlatency_factor = 0.5\n", 4, "a number from 1"),
        (LEAST + "[guard]\nload_band = true\n", 4, "a number from"),
        (LEAST + '[knobs]\n"nic.rx_usecs" = "0:400"\n"cpu.freq_mhz" = "1300"\n', 5, "a range must be LOW:HIGH"),
        (LEAST + '[knobs]\n"nic.rx_usecs" = 50\n', 4, "it must be a text"),
        (LEAST + '[knobs]\npower.cap_w = "60:120:5"\n', 4, "'power.cap_w': a knob's id must be in quotes"),
        (LEAST + '[knobs]\n"nic.rx_usecs" = "0:1W"\n', 4, "it must be a time"),
        (LEAST + '[tls]\nkey = "k.pem"\n', 3, "mutual TLS must have certificate, key and ca"),
        (LEAST + '[load]\nserver = "web1"\n', 3, "a load must have a server and qps"),
        (LEAST + '[load]\nserver = "web1"\nqps = 1\nprotocol = "smtp"\n', 6, "'smtp' is no protocol"),
        (LEAST + '[load]\nserver = "web1"\nqps = 1\nworkload = "mine"\n', 6, "'mine' is no workload"),
        (LEAST + '[load]\nserver = "web1"\nqps = 1\nkey_size = "huge"\n', 6, "distribution"),
        (LEAST + '[load]\nserver = "web1"\nqps = 1\nblocking = 1\n', 6, "true or false"),
        (LEAST + '[load]\nserver = "web1"\nqps = 1\ninsecure = true\n', 3, "TLS is not spoken"),
        (LEAST + '[load]\nserver = "web1"\nqps = 1\ntls = true\ncacert = "no.pem"\n', 3, "cannot read no.pem"),
        (
            LEAST + '[load]\nserver = "web1"\nqps = 1\nthrough = "ssh \'client"\n',
            6,
            "a command must be words as a shell splits them",
        ),
        (
            LEAST + 'qps = 5\n[load]\nserver = "web1"\nqps = 1\n',
            3,
            "the qps of a load that BayOp makes must be in [load]",
        ),
        ("agent = 'unix:/a'\nlatency = \n", 2, "the file is not TOML"),
    ],
)
def test_a_mistake_has_a_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert f"live.toml:{line}" in caught.value.message
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file names no agent"),
        ('agent = "unix:/a"\n', "the file names no source of latency"),
    ],
)
def test_a_file_that_says_too_little_says_what_is_missing(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, text)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("latency", "message"),
    [
        ("probe:memcachd://web1", "there is no protocol 'memcachd'"),
        ("prometheus:http://m:9090", "a Prometheus source must have a query"),
        ("ebpf:", "a command must not be empty"),
    ],
)
def test_a_source_that_can_t_work_is_refused_at_its_line(tmp_path: Path, latency: str, message: str) -> None:
    live = read(tmp_path, LEAST.replace("./p99.sh", latency))
    with pytest.raises(InputError, match=message) as caught:
        live.source(SLO)
    assert f"{tmp_path / 'live.toml'}:2" in caught.value.message


def test_the_source_is_for_the_search_s_slo(tmp_path: Path) -> None:
    source = read(tmp_path, LEAST.replace("./p99.sh", "probe:memcached://web1")).source(SLO)
    assert isinstance(source, OpenLoopProbe)
    load = 'agent = "unix:/a"\n[load]\nserver = "web1"\nqps = 5000\n'
    assert read(tmp_path, load).source(SLO) is None


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*live\.toml: no such file"):
        LiveFile.read(tmp_path / "live.toml")
    (tmp_path / "live.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"cannot read .*live\.toml: it is not text in UTF-8"):
        LiveFile.read(tmp_path / "live.toml")


def test_a_parameter_of_a_target_is_where_the_file_gives_it(tmp_path: Path) -> None:
    head = 'agent = "unix:/run/a"\n'
    asked = read(tmp_path, f'{head}latency = "clients"\nqps = 5\n')
    assert [asked.place(name).rpartition("/")[2] for name in ("load", "latency")] == ["live.toml:3", "live.toml:2"]
    loaded = read(tmp_path, f'{head}[load]\nserver = "web1"\nqps = 5\n')
    assert loaded.place("latency").endswith("live.toml:2"), "the load is the source"
    assert read(tmp_path, f'{head}latency = "clients"\n').place("load").endswith("live.toml, qps")
