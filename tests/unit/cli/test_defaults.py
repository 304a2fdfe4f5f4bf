from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from bayop.cli import defaults, main
from bayop.cli.flags.arguments import slos_of
from bayop.cli.parser import build_parser
from bayop.errors import InputError


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's file; the system's is beside it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(defaults, "SYSTEM", tmp_path / "system.toml")
    (tmp_path / "bayop").mkdir()
    return tmp_path / "bayop" / "config.toml"


def parsed(*words: str) -> argparse.Namespace:
    parser = build_parser(words)
    defaults.apply(parser)
    return parser.parse_args(words)


def slo_of(*words: str) -> str:
    """`tune` keeps several at once, other verbs one."""
    args = parsed(*words)
    return str(slos_of(args) if words[0] == "tune" else args.slo)


def test_nothing_is_loaded_where_nobody_has_defaults(user: Path) -> None:
    assert not user.exists()
    assert defaults.apply(build_parser(["tune"])) == []


@pytest.fixture
def unseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's file of which nobody can tell whether it is there; root may enter every folder, but no loop of links."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(loop))
    return loop / "bayop" / "config.toml"


def test_a_file_that_cannot_be_seen_is_refused(unseen: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knobs"]) == main(["config"]) == 2
    said = capsys.readouterr().err
    assert f"cannot read {unseen}: too many levels of symbolic links" in said
    assert "hint: let this user enter its folder" in said


def test_help_needs_no_defaults(unseen: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "run"]) == 0
    assert str(unseen) not in capsys.readouterr().err


def test_a_folder_is_no_file_of_defaults(user: Path) -> None:
    user.mkdir()
    with pytest.raises(InputError, match=f"cannot read {user}: is a directory"):
        defaults.apply(build_parser(["tune"]))


def test_a_user_without_a_home_has_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody_knows() -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nobody_knows)
    assert defaults.files() == [defaults.SYSTEM]


def test_flags_beat_environment_beats_user_beats_system(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert slo_of("tune") == "p99<500us"
    defaults.SYSTEM.write_text('slo = "p99<100us"\n')
    assert slo_of("tune") == "p99<100us"
    user.write_text('slo = "p99<200us"\n')
    assert slo_of("tune") == "p99<200us"
    user.write_text('slo = "p99<200us"\n[tune]\nslo = "p99<250us"\n')
    assert (slo_of("tune"), slo_of("demo")) == ("p99<250us", "p99<200us")
    monkeypatch.setenv("BAYOP_SLO", "p99<300us")
    assert slo_of("tune") == "p99<300us"
    assert slo_of("tune", "--slo", "p99<400us") == "p99<400us"


def test_a_flag_that_is_required_may_come_from_a_file(user: Path) -> None:
    user.write_text('[study-export]\nout = "copy.csv"\n')
    parser = build_parser(words := ["study", "export", "a.csv"])
    defaults.apply(parser)
    assert parser.parse_args(words).out == Path("copy.csv")


def test_lists_numbers_and_switches(user: Path) -> None:
    user.write_text('[tune]\nmax-trials = 4\nkeep = true\nrange = ["nic.rx_usecs=0:400:20"]\n')
    args = parsed("tune")
    assert (args.max_trials, args.keep, [knob for knob, _ in args.range]) == (4, True, ["nic.rx_usecs"])


def test_what_is_typed_takes_the_place_of_a_list(user: Path) -> None:
    user.write_text('[tune]\nrange = ["nic.rx_usecs=0:400:20"]\n')
    args = parsed("tune", "--range", "nic.rx_usecs=0:800:20")
    assert [(knob, str(steps.high)) for knob, steps in args.range] == [("nic.rx_usecs", "800.0")]


def test_a_switch_has_the_name_of_what_it_switches_on(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not user.exists()
    monkeypatch.setenv("BAYOP_SMALL_STEPS", "1")
    monkeypatch.setenv("BAYOP_NO_CONFIRM", "1")
    args = parsed("tune")
    assert (args.small_steps, args.confirm) == (True, 0)
    assert parsed("tune", "--no-small-steps").small_steps is False
    monkeypatch.setenv("BAYOP_SMALL_STEPS", "0")
    assert parsed("tune").small_steps is False


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('slos = "p99<1ms"', 1, "did you mean slo?"),
        ("[tune]\n\nmax-trails = 3", 3, "did you mean max-trials?"),
        ("[tunes]\nseed = 1", 1, "did you mean tune?"),
        ('[tune]\nslo = "fast"', 2, "p99<500us"),
        ('[tune]\noptimizer = "axe"', 2, "grey-box"),
        ("[tune]\nkeep = 3", 2, "true or false"),
        ("[tune]\nwith-auto = true", 2, "with-auto"),
        ("[tune]\njson = true", 2, "json"),
        ("slo = ", 1, "TOML"),
    ],
)
def test_what_is_no_default_is_refused_at_its_line(user: Path, text: str, line: int, message: str) -> None:
    user.write_text(text)
    with pytest.raises(InputError) as caught:
        defaults.apply(build_parser(["tune"]))
    assert f"{user}:{line}" in caught.value.message
    assert message in f"{caught.value.message} {caught.value.hint}"


def test_a_variable_is_named_in_its_error(
    user: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not user.exists()
    monkeypatch.setenv("BAYOP_SLO", "fast")
    assert main(["tune", "--load", "400k"]) == 2
    assert "BAYOP_SLO" in capsys.readouterr().err


def test_config_shows_where_each_default_comes_from(user: Path, capsys: pytest.CaptureFixture[str]) -> None:
    user.write_text("[tune]\nmax-trials = 4\n")
    assert main(["config", "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    expected = {"event": "default", "verb": "tune", "flag": "--max-trials", "value": "4", "source": f"{user}:2"}
    assert expected in events
    assert main(["config"]) == 0
    assert "--max-trials" in capsys.readouterr().out
