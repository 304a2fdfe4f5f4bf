"""How the probe is called; what it sees of a real server is in `tests/contract/test_latency_sources.py`."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import pytest

from bayop.errors import InputError
from bayop.latency.base import Vantage, Window
from bayop.latency.open_loop import OpenLoopProbe
from bayop.slo import Slo

SEEN = '{"vantage": "probe", "requests": 500, "p99_us": 310.5, "relative_sd": {}}'
WINDOW = Window({"nic.rx_usecs": 50}, 0.25)
SLO = Slo.parse("p99<500us")


def test_a_command_runs_it_elsewhere_for_one_window(tmp_path: Path) -> None:
    program, arguments = tmp_path / "ssh", tmp_path / "arguments"
    program.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >{arguments}\necho '{SEEN}'\n")
    program.chmod(0o755)
    latency = OpenLoopProbe(f"{program} client bayop probe memcached://server", slo=SLO).measure(
        WINDOW, sleep=time.sleep
    )
    assert (latency.quantities, latency.vantage) == ({"p99_us": 310.5}, Vantage.PROBE)
    assert arguments.read_text().split() == [
        "client",
        "bayop",
        "probe",
        "memcached://server",
        "--window",
        "0.25s",
        "--json",
    ]


def test_an_address_is_probed_from_here() -> None:
    with pytest.raises(InputError, match=r"the command ended with exit code 2: .*smtp") as caught:
        OpenLoopProbe("smtp://server", slo=SLO).measure(WINDOW, sleep=time.sleep)
    assert str(caught.value.hint).startswith("one of memcached"), "bayop probe says what it speaks"


def test_a_window_without_requests_says_what_helps() -> None:
    nothing = shlex.join(["printf", '{"vantage": "probe", "requests": 0, "relative_sd": {}}'])
    with pytest.raises(InputError, match=r"the window had too few requests \(0\) \(open-loop probe printf\)") as caught:
        OpenLoopProbe(nothing, slo=SLO).measure(WINDOW, sleep=time.sleep)
    assert caught.value.hint == "take windows of 6s or longer, or let the probe send more requests"


def test_a_look_shows_what_it_can() -> None:
    p90 = shlex.join(["printf", '{"vantage": "probe", "requests": 100, "p90_us": 9, "relative_sd": {}}'])
    seen = OpenLoopProbe(p90, slo=SLO).measure(Window({}, 0.25, is_look=True), sleep=time.sleep)
    assert seen.quantities == {"p90_us": 9.0}


def test_a_window_that_is_too_short_for_the_slo_s_quantile_says_which_is_not() -> None:
    p90 = shlex.join(["printf", '{"vantage": "probe", "requests": 100, "p90_us": 9, "relative_sd": {}}'])
    with pytest.raises(InputError, match=r"a window of 0\.25 s had too few requests for p99_us") as caught:
        OpenLoopProbe(p90, slo=SLO).measure(WINDOW, sleep=time.sleep)
    assert "windows of 6s" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("text", "slo", "least_s"),
    [
        ("memcached://server", "p99<1ms", 6),
        ("memcached://server", "p50<1ms", 1),
        ("memcached://server --qps 1k", "p99.9<1ms", 12),
        ("ssh client bayop probe memcached://server --qps 50", "p90<1ms", 3),
        ("memcached://server --qps many", "p99<1ms", 6),
    ],
)
def test_a_window_is_as_long_as_its_quantile_needs(text: str, slo: str, least_s: float) -> None:
    assert OpenLoopProbe(text, slo=Slo.parse(slo)).least_window_s == least_s


def test_there_is_something_to_probe() -> None:
    with pytest.raises(InputError, match="a command must not be empty"):
        OpenLoopProbe("", slo=SLO)
