"""What Debian's package manager says and who may ask it; tests/end_to_end/test_app_install.py installs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bayop.applications import packages
from bayop.applications.definition import find_application
from bayop.errors import UnsupportedError

NGINX = find_application("nginx")
UNKNOWN = replace(NGINX, packages=("bayop-no-such-package",))


def test_a_program_is_found_beside_the_path_of_ordinary_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    found = packages.program_path(replace(NGINX, start=("setcap",)))
    assert found in {None, "/usr/sbin/setcap", "/sbin/setcap"}
    assert packages.program_path(replace(NGINX, start=("bayop-no-such-program",))) is None


def test_what_is_not_there_is_installed_or_built() -> None:
    absent = replace(NGINX, start=("bayop-no-such-program",))
    for application, wrong, hint in (
        (absent, "bayop-no-such-program is not installed", "bayop app install nginx"),
        (replace(absent, build="make it"), "bayop-no-such-program is not built", "in a clone of BayOp: make it"),
    ):
        with pytest.raises(UnsupportedError, match=wrong) as caught:
            packages.require_program(application)
        assert caught.value.hint == hint
    with pytest.raises(UnsupportedError, match="is not built"):
        packages.would_bring(replace(absent, build="make it"))


def test_a_program_that_is_there_does_not_say_that_its_packages_are(tmp_path: Path) -> None:
    application = replace(NGINX, start=("/usr/bin/env",), brings=str(tmp_path / "library"))
    with pytest.raises(UnsupportedError, match="library is not installed"):
        packages.require_program(application)
    (tmp_path / "library").mkdir()
    assert packages.require_program(application) == "/usr/bin/env"


def test_a_system_without_apt_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnsupportedError, match="there is no apt-get here"):
        packages.would_bring(NGINX)


@pytest.mark.needs("root", "apt-get")  # to become another user
def test_another_user_learns_that_it_takes_root() -> None:
    tell = """if True:
        import os
        from bayop.applications import packages
        from bayop.applications.definition import find_application
        application = find_application("nginx")
        os.setuid(65534)
        try:
            packages.would_bring(application)
        except packages.UnsupportedError as error:
            print(error.message, error.hint, sep="; ")
    """
    run = subprocess.run([sys.executable, "-c", tell], capture_output=True, text=True, check=True)
    assert run.stdout == "only root may install packages; sudo bayop app install nginx\n"


@pytest.mark.needs("root", "apt-get")
def test_a_package_that_nobody_knows_is_said_with_what_to_do() -> None:
    with pytest.raises(
        UnsupportedError, match=r"can't install bayop-no-such-package: Unable to locate package"
    ) as caught:
        packages.would_bring(UNKNOWN)
    assert caught.value.hint == "apt-get update, where its lists of packages are old"


@pytest.mark.needs("root", "apt-get")
def test_packages_that_are_there_without_the_program_are_no_application() -> None:
    broken = replace(NGINX, packages=("apt",), start=("bayop-no-such-program",))
    with pytest.raises(UnsupportedError, match=r"bayop-no-such-program is not in the packages of nginx \(apt\)"):
        packages.would_bring(broken)


def test_the_policy_denies_starts_to_what_we_install_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy-rc.d"
    monkeypatch.setattr(packages, "POLICY", policy)
    ours = os.environ | {packages._OURS: "1"}

    def answer(action: str, environment: Mapping[str, str], *more: str) -> int:
        return subprocess.run([policy, *more, "nginx", action], env=environment, check=False).returncode

    with packages._nothing_starts():
        actions = ("start", "restart", "stop", "(start)")
        assert [answer(action, ours) for action in actions] == [101, 0, 0, 101]
        assert [answer(action, os.environ) for action in actions] == [0, 0, 0, 101]
        assert answer("start", ours, "--quiet") == 101
    assert not policy.exists()


def test_a_policy_of_the_machine_s_own_holds_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text("the owner's", encoding="utf-8")
    monkeypatch.setattr(packages, "POLICY", policy)
    with packages._nothing_starts():
        assert policy.read_text(encoding="utf-8") == "the owner's"
    assert policy.exists()
