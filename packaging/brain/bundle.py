"""Unpacks BayOp and the locked wheels that it needs as a virtual environment for Debian's Python, with their licences.

usage: packaging/brain/bundle.py WHEEL LOCK MINOR FOLDER

FOLDER becomes the root of a package: /usr/lib/bayop is the environment, debian/copyright beside this file gets a
paragraph for each wheel. MINOR is the Python that it is for, such as 3.13; it need not be the one that runs this.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import Final

HOME: Final = "/usr/lib/bayop"
"""Where the environment stands; its interpreter's path is in it."""
_CONFIG: Final = "home = /usr/bin\ninclude-system-site-packages = false\nversion = {minor}\n"
_NOT_NEEDED: Final = ("bin", "**/tests", "**/sample_data", "*.dist-info/direct_url.json")
"""Programs of other packages, their tests and samples, and what would tell where the package was built."""


def bundle(wheel: Path, lock: Path, minor: str, root: Path) -> Path:
    """Makes the environment; returns the folder of its packages."""
    home = root / HOME.removeprefix("/")
    packages = home / "lib" / f"python{minor}" / "site-packages"
    packages.mkdir(parents=True)
    (home / "bin").mkdir()
    (home / "bin" / "python3").symlink_to(f"/usr/bin/python{minor}")
    (home / "pyvenv.cfg").write_text(_CONFIG.format(minor=minor), encoding="utf-8")
    _install(packages, minor, "--require-hashes", "--requirement", str(lock))
    _install(packages, minor, str(wheel))
    for pattern in _NOT_NEEDED:
        for path in list(packages.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return packages


def _install(packages: Path, minor: str, *words: str) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--target", str(packages)]
    # The lock was resolved for that Python; pip would ask for its own.
    target = ["--python-version", minor, "--implementation", "cp", "--only-binary", ":all:", "--ignore-requires-python"]
    subprocess.run([*pip, *target, "--upgrade", *words], check=True)


def copyright_of(packages: Path) -> Iterator[str]:
    """A paragraph of debian/copyright for each wheel: whose it is, its licence, and where the whole text is."""
    for about in sorted(packages.glob("*.dist-info")):
        metadata = HeaderParser().parsestr((about / "METADATA").read_text(encoding="utf-8"))
        if metadata["Name"] == "bayop":
            continue
        texts = sorted(path for path in about.rglob("*") if _is_licence(path))
        if not texts:
            raise SystemExit(f"error: {about.name} has no text of its licence\nhint: look whether it may be passed on")
        where = [f" {HOME}/lib/{packages.parent.name}/site-packages/{path.relative_to(packages)}" for path in texts]
        yield "\n".join(
            [
                f"Files: {_files(about, where=f'{HOME}/lib/{packages.parent.name}/site-packages')}",
                f"Copyright: {_holder(metadata)}",
                f"License: {_licence(metadata)}",
                f" {metadata['Name']} {metadata['Version']} as its authors built it, without tests. Whole texts:",
                *where,
            ]
        )


def _files(about: Path, where: str) -> str:
    """The folders and modules that a wheel has brought, by its own record."""
    record = (about / "RECORD").read_text(encoding="utf-8").splitlines()
    tops = {line.partition(",")[0].partition("/")[0] for line in record}
    return " ".join(f"{where}/{top}" for top in sorted(tops - {"..", "bin"}))


def _is_licence(path: Path) -> bool:
    return path.is_file() and path.name.upper().startswith(("LICEN", "COPYING", "NOTICE", "AUTHORS"))


def _holder(metadata: Message) -> str:
    named = metadata["Author"] or metadata["Author-email"] or f"the authors of {metadata['Name']}"
    return " ".join(str(named).split())


def _licence(metadata: Message) -> str:
    """Its SPDX expression; wheels that have none have a classifier."""
    classified = [each.rpartition(" :: ")[2] for each in metadata.get_all("Classifier", []) if "License ::" in each]
    said = metadata["License-Expression"] or (classified or [metadata["License"]])[0]
    return str(said).splitlines()[0].replace(" ", "-") if said else "as-in-its-text"


if __name__ == "__main__":
    own_wheel, lock_file, python_minor, package_root = sys.argv[1:]
    site = bundle(Path(own_wheel), Path(lock_file), python_minor, Path(package_root).absolute())
    copyrights = Path(__file__).with_name("debian") / "copyright"
    with copyrights.open("a", encoding="utf-8") as file:
        for paragraph in copyright_of(site):
            file.write(f"\n{paragraph}\n")
