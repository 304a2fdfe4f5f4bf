"""What package managers have brought for an application, would bring, and bring: `bayop app install`.

Packages of Debian are installed; those of PyPI and npm come into a folder of the application's own, and nothing of
theirs runs meanwhile.

Debian starts a service when it installs it, and at every boot. An application of ours is started by `bayop app start`
or `bayop live`, on an address of its own: a second one beside it, on its standard port, would be a surprise and takes
processor time from what is measured. So what is installed here is neither started nor enabled.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bayop.applications.cache import new_cache, packages_folder
from bayop.applications.definition import Application
from bayop.errors import BayopError, UnsupportedError

POLICY: Final = Path("/usr/sbin/policy-rc.d")
"""What Debian's scripts ask whether they may start a service (deb-systemd-invoke(1p), invoke-rc.d(8))."""

_BUILT: Final = Path(__file__).resolve().parents[3] / "target" / "release"
"""Where a clone of BayOp has built programs; elsewhere there is no such folder."""

_OURS: Final = "BAYOP_APP_INSTALL"
"""The variable by which `POLICY` knows that it is asked by what we install."""

_START_NOTHING: Final = f"""\
#!/bin/sh
# While bayop app install runs: what it installs is not started (101). Nothing else changes, for others neither: an
# action in parentheses is out of its runlevel, which is denied without a policy too.
[ "$1" != --quiet ] || shift
case "$2" in
"("*) exit 101 ;;
start) [ -z "${_OURS}" ] || exit 101 ;;
esac
"""
_INSTALL: Final = ("apt-get", "install", "--quiet", "--yes", "--no-install-recommends", "--no-upgrade", "--no-remove")


@dataclass(frozen=True, slots=True)
class _Registry:
    """Where packages are that come into a folder.

    Attributes:
        client: What has to be there to bring them: a path, or a program of PATH.
        package: What Debian brings that by.
        words: The command, which the packages follow. Nothing of theirs runs, and what lies in the folder that this is
            called from has no part in it.
    """

    client: str
    package: str
    words: tuple[str, ...]

    def is_there(self) -> bool:
        """Whether the client is."""
        return Path(self.client).exists() if "/" in self.client else shutil.which(self.client) is not None


_REGISTRIES: Final[Mapping[str, _Registry]] = {
    # Debian's Python, since a service of nobody's can't run one of a home.
    "pypi": _Registry(
        "/usr/lib/python3/dist-packages/pip",
        "python3-pip",
        ("/usr/bin/python3", "-I", "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--target", "{folder}"),
    ),
    "npm": _Registry(
        "npm",
        "npm",
        ("npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", "{folder}"),
    ),
}
_ENABLED: Final = ("systemctl", "list-unit-files", "--type=service", "--state=enabled", "--no-legend")


def program_path(application: Application) -> str | None:
    """Where the program that it starts is installed, or was built; None where it is not.

    Servers stand in /usr/sbin, which is not on every user's path.
    """
    return None if _missing(application) else _which(application)


def _which(application: Application) -> str | None:
    return shutil.which(application.start[0], path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:{_BUILT}")


def _missing(application: Application) -> str | None:
    """What is not there of what it needs; None where all is."""
    if application.brings is not None and not Path(application.brings).exists():
        return application.brings
    others = [name for names in _others(application).values() for name in names]
    if others and not packages_folder(application).exists():
        return " ".join(others)
    return None if _which(application) else application.start[0]


def require_program(application: Application) -> str:
    """Where the program that it starts is.

    Raises:
        UnsupportedError: it is not there.
    """
    path = program_path(application)
    if path is None:
        how, hint = "installed", f"bayop app install {application.name}"
        if application.build is not None:
            how, hint = "built", f"in a clone of BayOp: {application.build}"
        raise UnsupportedError(wrong=f"{_missing(application)} is not {how}", hint=hint)
    return path


def would_bring(application: Application) -> tuple[str, ...]:
    """The packages that its installation brings, those that they depend on included, by the package manager's word.

    Raises:
        UnsupportedError: this user may not install, there is no apt-get, it does not know a package, or nothing that
            could be installed has the program.
    """
    if application.build is not None:
        require_program(application)
    others = _others(application)
    for registry in others:
        known = _REGISTRIES[registry]
        if not known.is_there():
            raise UnsupportedError(wrong=f"there is no {known.client} here", hint=f"apt-get install {known.package}")
    brought = _apt_would_bring(application) if application.packages.get("apt") or not others else ()
    brought += tuple(f"{registry}:{name}" for registry, names in others.items() for name in names)
    if not brought:
        raise _without_program(application)
    return brought


def _apt_would_bring(application: Application) -> tuple[str, ...]:
    if shutil.which("apt-get") is None:
        program = application.start[0]
        raise UnsupportedError(wrong="there is no apt-get here", hint=f"bring {program} as this system brings programs")
    if os.geteuid() != 0:
        raise UnsupportedError(
            wrong="only root may install packages", hint=f"sudo bayop app install {application.name}"
        )
    asked = application.packages.get("apt", ())
    run = _run([*_INSTALL, "--simulate", *asked])
    if run.returncode != 0:
        said = re.findall(r"^E: (.*?)\.?$", run.stderr, re.MULTILINE)
        wrong = f"apt-get can't install {' '.join(asked)}: {said[-1] if said else 'it does not say why'}"
        raise UnsupportedError(wrong=wrong, hint="apt-get update, where its lists of packages are old")
    return tuple(re.findall(r"^Inst (\S+)", run.stdout, re.MULTILINE))


def install(application: Application) -> tuple[str, ...]:
    """Installs its packages without starting or enabling the services that come with them.

    What they say goes to stderr. What apt-get has begun is not broken off: an exception, such as Ctrl-C, waits for its
    end.

    Returns:
        The services (units of systemd) that came, enabled, and are disabled now.

    Raises:
        BayopError: the installation has failed.
        UnsupportedError: the program is not in what was installed.
    """
    asked, others = application.packages.get("apt", ()), _others(application)
    services = _install_of_debian(asked) if asked else ()
    if others and not (folder := packages_folder(application)).exists():
        with new_cache(folder) as filling:
            filling.chmod(0o755)  # for nobody, whom the service is
            for registry, names in others.items():
                words = [word.replace("{folder}", str(filling)) for word in _REGISTRIES[registry].words]
                run = subprocess.run(  # noqa: S603 -- our words
                    [*words, *names], stdin=subprocess.DEVNULL, stdout=2, check=False, umask=0o022
                )
                if run.returncode != 0:
                    raise _failed(words[0], run.returncode)
    if program_path(application) is None:
        raise _without_program(application)
    return services


def _failed(program: str, code: int) -> BayopError:
    return BayopError(wrong=f"{program} ended with exit code {code}", hint="what it said stands above")


def _others(application: Application) -> Mapping[str, tuple[str, ...]]:
    """Its packages that are not Debian's."""
    return {registry: names for registry, names in application.packages.items() if registry != "apt" and names}


def _install_of_debian(asked: Sequence[str]) -> tuple[str, ...]:
    """Installs packages of Debian, and returns the services that are disabled now."""
    before = _enabled_services()
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", _OURS: "1"}
    words, quiet = [*_INSTALL, *asked], subprocess.DEVNULL
    with (
        _nothing_starts(),
        subprocess.Popen(words, stdin=quiet, stdout=2, env=environment, start_new_session=True) as apt,  # noqa: S603 -- our words
    ):
        try:
            apt.wait()
        finally:
            apt.wait()
            services = tuple(sorted(_enabled_services() - before))
            _disable(services)
    if apt.returncode != 0:
        raise _failed("apt-get", apt.returncode)
    return services


@contextmanager
def _nothing_starts() -> Iterator[None]:
    """Has services that we install not started; where the machine has a policy of its own, that one holds."""
    try:
        descriptor = os.open(POLICY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755)
    except FileExistsError:
        yield
        return
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(descriptor, 0o755)
            file.write(_START_NOTHING)
        yield
    finally:
        POLICY.unlink(missing_ok=True)


def _enabled_services() -> set[str]:
    """The services that start at every boot; none where there is no systemd."""
    if shutil.which(_ENABLED[0]) is None:
        return set()
    return {line.split()[0] for line in _run(_ENABLED).stdout.splitlines()}


def _disable(services: Sequence[str]) -> None:
    if services and (run := _run(["systemctl", "disable", *services])).returncode != 0:
        said = run.stderr.strip().splitlines()
        raise BayopError(wrong=f"{', '.join(services)} can't be disabled", hint=said[-1] if said else None)


def _without_program(application: Application) -> UnsupportedError:
    packages = ", ".join(application.package_names) or "it has none"
    return UnsupportedError(
        wrong=f"{application.start[0]} is not in the packages of {application.name} ({packages})",
        hint="packages in its app.toml must bring the program that start names",
    )


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"LC_ALL": "C"}
    return subprocess.run(words, capture_output=True, text=True, check=False, env=environment)  # noqa: S603 -- our words
