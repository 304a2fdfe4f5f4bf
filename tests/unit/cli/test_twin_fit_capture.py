"""`bayop twin fit --capture`, and what can be done with the profile that it writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.twin_captures import SETTINGS, write_twin_captures

from bayop.cli import main
from bayop.twin.profile_library import load_profile
from bayop.twin.target import TwinTarget

SMALL = ("--sweeps", "16", "--requests", "1000", "--threads", "2")
THREE = ("--capture", *SETTINGS)
AS_SET = tuple(
    word
    for setting in SETTINGS.values()
    for word in ("--setting", ",".join(f"{knob}={value:g}" for knob, value in setting.items()))
)
LOADS = ("--loads", "60kqps,60kqps,60kqps")

Event = Mapping[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captures")


@pytest.fixture(scope="module")
def power_w(folder: Path) -> str:
    """What the server drew during each capture, as a flag has it."""
    return ",".join(f"{window['power_w']:.2f}" for window in write_twin_captures(folder).values())


@pytest.fixture(autouse=True)
def there(folder: Path, power_w: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 -- it writes the logs
    monkeypatch.chdir(folder)


def fit(*words: str) -> int:
    Path("fitted.toml").unlink(missing_ok=True)
    return main(["twin", "fit", "--profile", "own.toml", "--out", "fitted.toml", *words, *SMALL])


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert fit(*words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err


def test_programs_are_told_what_is_known_of_each_number(capsys: pytest.CaptureFixture[str], power_w: str) -> None:
    assert fit(*THREE, *AS_SET, *LOADS, "--power-w", power_w, "--json") == 0
    events: list[Event] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    def of(kind: str) -> list[Event]:
        return [event for event in events if event["event"] == kind]

    assert [(one["capture"], one["cpus"], one["qps"]) for one in of("capture")] == [
        (name, 4, 60_000.0) for name in SETTINGS
    ]
    assert of("capture")[1]["delay_us"] == pytest.approx(220.0, rel=0.01)
    assert of("capture")[0]["idle"].keys() >= {"C1", "C1E"}
    assert of("fit")[0]["complete"] is False
    changes = of("fit")[0]["parameters"]
    by_key = {one["key"]: one for one in of("parameter")}
    assert changes.keys() < by_key.keys()
    assert by_key["os.interrupt_kcycles"]["fitted"]
    assert by_key["os.interrupt_kcycles"]["sd"] > 0.0
    assert not by_key["app.network_us"]["fitted"]
    assert by_key["app.network_us"]["sd"] is None
    assert [(one["capture"], one["held_out"]) for one in of("prediction")] == [
        (name, held_out) for held_out in (False, True) for name in SETTINGS
    ]
    for one in of("prediction"):
        assert one["error_pct"].keys() == one["measured"].keys() == one["predicted"].keys()
        assert one["error_pct"]["power_w"] == pytest.approx(
            100.0 * (one["predicted"]["power_w"] / one["measured"]["power_w"] - 1.0), abs=0.1
        )
    written = load_profile("fitted.toml").values()
    for key, change in changes.items():
        assert written[key] == pytest.approx(change["after"], rel=1e-3), key


def test_the_profile_says_where_it_comes_from_and_predicts_a_saving(
    folder: Path, capsys: pytest.CaptureFixture[str], power_w: str
) -> None:
    assert fit(*THREE, *AS_SET, *LOADS, "--power-w", power_w) == 0
    head = (folder / "fitted.toml").read_text(encoding="utf-8").splitlines()[:4]
    assert head[0] == "# Fitted from own.toml by bayop twin fit --capture, to the interrupts in"
    assert "logs/200us: nic.rx_usecs=200us, cpu.freq_mhz=2900MHz; " in head[2]
    assert "60000 requests/s" in head[2]
    server = TwinTarget.from_profile("fitted.toml", qps=60_000.0, seed=0)
    default = server.baseline()
    assert default is not None
    server.apply({"nic.rx_usecs": 200, "cpu.freq_mhz": 1500})
    assert server.measure()["power_w"] < default["power_w"]
    capsys.readouterr()
    assert main(["twin", "run", "--profile", "fitted.toml", "--load", "60kqps", "--requests", "1000"]) == 0


def test_people_get_tables(capsys: pytest.CaptureFixture[str], power_w: str) -> None:
    assert fit(*THREE, *AS_SET, *LOADS, "--power-w", power_w) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "os.interrupt_kcycles" in out
    assert "Assumed, as in the profile: app.service_exponential_share" in out
    assert "What the fitted profile says of the captures" in out
    assert "(W)" in out
    assert "What a fit to the other captures says of each" in out
    assert out.endswith("than --sweeps 16 may fit better. Written: fitted.toml")


def test_one_capture_leaves_none_to_be_predicted(capsys: pytest.CaptureFixture[str]) -> None:
    assert fit("--capture", "logs/100us", "--setting", "nic.rx_usecs=100us,cpu.freq_mhz=1.9GHz") == 0
    out = capsys.readouterr().out
    assert "One capture: none is left" in out
    assert "What a fit to the other captures" not in out
    assert "int/s" in out
    assert "(W)" not in out
    assert "a request a packet" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--data", "example:memcached", *THREE), "--capture"),
        ((), "--data"),
        ((*THREE, *AS_SET[:2]), "there are 3 captures, and 1 of --setting; --setting must say one for each capture"),
        (("--capture", "logs/100us", *AS_SET), "there is 1 capture, and 3 of --setting"),
        ((*THREE, *AS_SET, "--power-w", "50,60"), "there are 3 captures, and 2 of --power-w"),
        ((*THREE, *AS_SET, "--loads", "60kqps"), "there are 3 captures, and 1 of --loads"),
        ((*THREE, *AS_SET, "--power-w", "50,60,0"), "a power must be positive (--power-w)"),
        ((*THREE, *AS_SET, "--parameters", "power"), "--parameters must go with --data"),
        ((*THREE, *AS_SET, "--os", "linux"), "--os must go with --data"),
        (("--data", "example:memcached", "--power-w", "50"), "--power-w must go with --capture"),
        (("--data", "example:memcached", *AS_SET[:2]), "--setting must go with --capture"),
        (("--capture", "logs/100us"), "the log has no frequency (freq_khz)"),
        (("--capture", "logs/nope", "--setting", "auto"), "cannot read logs/nope: no such file"),
        (("--capture", "logs/100us", "--setting", "nic.rx_usecs=2s,cpu.freq_mhz=1.9GHz"), "nic.rx_usecs must be"),
        (
            ("--capture", "logs/100us", "--setting", AS_SET[-1], "--profile", "linux-memcached"),
            "the capture has 4 and memcached on Linux 16",
        ),
        (
            ("--capture", "logs/100us", "--setting", AS_SET[-1], "--loads", "5kqps"),
            "a load must be one or two packets a request",
        ),
    ],
)
def test_bad_usage(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str) -> None:
    assert message in refusal(capsys, *words)


def test_a_budget_too_small_to_fit_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["twin", "fit", "--profile", "own.toml", "--out", "short.toml", *THREE, *AS_SET, *LOADS, "--sweeps", "3"]
    assert main(argv) == 2
    assert "the budget of a fit must be enough for its first step (--sweeps)" in capsys.readouterr().err
    assert not Path("short.toml").exists()
