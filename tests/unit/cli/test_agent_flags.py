from __future__ import annotations

import argparse
import os
from contextlib import nullcontext
from pathlib import Path
from typing import cast

import pytest

from bayop.cli import main
from bayop.cli.flags import agent as agent_flags
from bayop.errors import InputError
from bayop.live.target import AgentTarget


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    agent_flags.add_agent(parser, "an agent")
    return parser.parse_args(words)


def test_an_agent_on_this_machine_needs_no_credentials() -> None:
    args = parse("--agent", "unix:/run/bayop/agent.sock")
    agent_flags.check_needs_agent(args)
    assert str(agent_flags.client_of(args.agent, args).address) == "unix:/run/bayop/agent.sock"


@pytest.mark.parametrize("address", ["", "web1", "unix:relative.sock", "http://web1", "https://web1:99999"])
def test_what_is_no_address_is_refused_by_the_flag(address: str) -> None:
    with pytest.raises(InputError) as caught:
        parse("--agent", address)
    assert caught.value.place == "--agent"
    assert caught.value.hint


def test_the_file_that_is_missing_is_named() -> None:
    args = parse("--agent", "https://web1", "--agent-cert", "brain.pem", "--agent-ca", "ca.pem")
    with pytest.raises(InputError) as caught:
        agent_flags.client_of(args.agent, args)
    assert caught.value.hint == "add --agent-key"


def test_credentials_without_an_agent_are_a_mistake() -> None:
    with pytest.raises(InputError, match=r"--agent-ca is for an agent, and none is named"):
        agent_flags.check_needs_agent(parse("--agent-ca", "ca.pem"))
    assert parse("--agent-ca", "ca.pem").agent_ca == Path("ca.pem")


def test_others_read_who_holds_the_lease() -> None:
    holder = agent_flags.holder("tune")
    assert holder.startswith("bayop tune by ")
    assert holder.endswith(f"(pid {os.getpid()})")


class Kept:
    """As much of a target as `told` asks for."""

    def __init__(self, undo: str | None, *, has_held: bool) -> None:
        self.undo, self.has_held = undo, has_held


@pytest.mark.parametrize(
    ("undo", "has_held", "message"),
    [
        (None, True, "the machine's own settings are back\n"),
        ("bayop restore", True, "the result stays applied: bayop restore takes it back\n"),
        (None, False, ""),
    ],
)
def test_who_ends_in_an_error_says_what_is_in_effect_if_it_has_changed_anything(
    undo: str | None,
    has_held: bool,  # noqa: FBT001
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with (
        pytest.raises(OSError, match="full"),
        agent_flags.reporting(nullcontext(cast("AgentTarget", Kept(undo, has_held=has_held)))),
    ):
        raise OSError("the disk is full")
    assert capsys.readouterr().err == message


def test_a_user_without_a_name_is_named_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    assert agent_flags.holder("tune").startswith("bayop tune by uid 54321@")


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_source_of_latency_that_can_t_work_is_refused_before_the_agent_is_asked(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "live.toml"
    file.write_text(f'agent = "unix:{tmp_path}/nobody"\nlatency = "probe:memcachd://web1"\n')
    assert main(["tune", "--target", str(file), *more]) == 2
    assert f"there is no protocol 'memcachd' ({file}:2" in capsys.readouterr().err


def test_so_is_one_that_a_flag_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--target", f"agent:unix:{tmp_path}/nobody", "--latency", "probe:memcachd://web1"]) == 2
    assert "there is no protocol 'memcachd' (--latency)" in capsys.readouterr().err
