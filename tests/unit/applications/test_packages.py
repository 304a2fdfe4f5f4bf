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
from bayop.errors import BayopError, UnsupportedError

NGINX = find_application("nginx")
UNKNOWN = replace(NGINX, packages={"apt": ("bayop-no-such-package",)})


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


FAKE = """\
#!/bin/sh
echo "$@" >>{said}
for folder; do [ "$last" != --prefix ] || break; last=$folder; done
mkdir -p "$folder/node_modules" && exit $(cat {said}.code)
"""


def test_packages_of_another_registry_come_into_a_folder_of_their_own_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, place = tmp_path / "said", tmp_path / "cache" / "mine"
    (tmp_path / "npm").write_text(FAKE.format(said=said), encoding="utf-8")
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(packages, "packages_folder", lambda _: place)
    application = replace(NGINX, start=("sh",), packages={"npm": ("fastify@4.28.1",)})
    assert packages.program_path(application) is None
    assert packages.would_bring(application) == ("npm:fastify@4.28.1",)
    code = Path(f"{said}.code")
    code.write_text("1")
    with pytest.raises(BayopError, match="npm ended with exit code 1"):
        packages.install(application)
    assert list(place.parent.iterdir()) == []
    code.write_text("0")
    assert packages.install(application) == ()
    assert (place / "node_modules").exists()
    assert place.stat().st_mode & 0o777 == 0o755
    assert packages.program_path(application) is not None
    words = said.read_text(encoding="utf-8").split()
    assert words[0] == "install"
    assert "--ignore-scripts" in words
    assert words[-1] == "fastify@4.28.1"


@pytest.mark.needs("root", "apt-get")
def test_a_package_that_nobody_knows_is_said_with_what_to_do() -> None:
    with pytest.raises(
        UnsupportedError, match=r"can't install bayop-no-such-package: Unable to locate package"
    ) as caught:
        packages.would_bring(UNKNOWN)
    assert caught.value.hint == "apt-get update, where its lists of packages are old"


@pytest.mark.needs("root", "apt-get")
def test_packages_that_are_there_without_the_program_are_no_application() -> None:
    broken = replace(NGINX, packages={"apt": ("apt",)}, start=("bayop-no-such-program",))
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
