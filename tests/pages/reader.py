"""Somebody who follows a page: in a copy of the repository, from top to bottom, and looks at what comes of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest
from tests.pages.blocks import ROOT, Block, Step, blocks_of
from tests.pages.shell import Shell, is_as_shown
from tests.support.needs import program

# As root on a machine of one's own these are what they are on a server; cargo builds in the repository itself, where
# everything is built already.
_PROGRAMS: Final = {
    "cargo": f'cd {ROOT} && HOME={Path.home()} exec PROGRAM "$@"',
    "memcached": 'exec PROGRAM $([ "$(id -u)" -ne 0 ] || echo -u root) "$@"',
    "sudo": '[ "$(id -u)" -eq 0 ] && exec "$@"; echo "sudo: only root runs this test" >&2; exit 1',
}


def copy_repository(folder: Path, programs: Path) -> Path:
    """A clone with what is built in the repository and what the lab is made of, and the published data beside it.

    Args:
        folder: Where it is made.
        programs: Takes what stands for some programs; everybody may enter it.
    """
    clone = folder / "bayop"
    run = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, run.stdout.split("\0")):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, clone / name, follow_symlinks=False)
    (clone / ".venv").mkdir()
    for part in (ROOT / ".venv").iterdir():
        (clone / ".venv" / part.name).symlink_to(part)
    # `make` of the copy builds nothing: it would install the copy in the repository's .venv.
    for stamp in (".installed", ".built"):
        (clone / ".venv" / stamp).unlink(missing_ok=True)
        (clone / ".venv" / stamp).touch()
    (clone / "target").symlink_to(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    (clone / "build").mkdir()
    (clone / "build" / "lab").symlink_to(ROOT / "build" / "lab")
    (folder / "shared").symlink_to(ROOT.parent / "shared")
    (folder / "bin").symlink_to(programs)
    for name, does in _PROGRAMS.items():
        # By its path: whoever looked for it by name where this folder is not the first would find himself, for ever.
        text = does.replace("PROGRAM", program(name) or "not-installed")
        (programs / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    return clone


class Reader:
    """One page's.

    Args:
        page: The page.
        clone: The copy of the repository.
        through: What starts the shell.
    """

    def __init__(self, page: Path, clone: Path, *, through: Sequence[str] = ()) -> None:
        self._blocks = blocks_of(page)
        self._done = 0
        self._started: set[str] = set()
        # A folder of its own, in which other pages write nothing.
        self.folder = clone.parent / str(page.relative_to(ROOT)).replace("/", "-").removesuffix(".md") / "bayop"
        shutil.copytree(clone, self.folder, symlinks=True, copy_function=os.link)
        (self.folder.parent / "shared").symlink_to(clone.parent / "shared")
        paths = [(clone.parent / "bin").resolve(), self.folder / ".venv" / "bin"]
        path = os.pathsep.join([*map(str, paths), os.environ["PATH"], "/usr/sbin"])
        home = self.folder.parent / "home"
        home.mkdir()
        # A new user's: without defaults of BayOp, which are variables and files at home.
        own = {name: value for name, value in os.environ.items() if not name.startswith("BAYOP_")}
        variables = {"HOME": str(home), "PATH": path, "NO_COLOR": "1"}
        # Cargo runs with the home of who runs the tests; what `make` tells it of that has to be true.
        variables["CARGO_HOME"] = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
        self._shell = Shell(self.folder, own | variables, through)

    def bring(self, folders: Mapping[str, Path]) -> None:
        """Puts folders that the page speaks of where it says that they are."""
        for name, folder in folders.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).symlink_to(folder)

    def start(self, command: str) -> None:
        """Has something run beside the page; once."""
        if command not in self._started:
            self._started.add(command)
            self._shell.run(command)

    def follow(self, block: Block) -> None:
        """Does what a block says, and before that what the page says above it.

        Raises:
            AssertionError: a command fails or prints something else than the page shows.
        """
        here = self._blocks.index(block)
        for above in self._blocks[self._done : here]:
            self._write(above)
            if above.runs and not above.is_slow and not above.needs:
                for step in above.steps():
                    self._shell.run(step.command)
        self._done = max(self._done, here + 1)
        for step in block.steps():
            self._check(step, block.exit_codes, block.clauses.get("types"))

    def close(self) -> None:
        """Ends what still runs."""
        self._shell.close()
        shutil.rmtree(self.folder)

    def _check(self, step: Step, exit_codes: Sequence[int], typed: str | None) -> None:
        output, code = self._shell.run(step.command, typed=typed)
        if code not in exit_codes:
            pytest.fail(f"$ {step.command}\n{output}\nexit code {code}", pytrace=False)
        if step.shown and not is_as_shown(step.shown, output):
            pytest.fail(f"$ {step.command}\nprints\n\n{output}\nwhere the page shows\n\n{step.shown}", pytrace=False)

    def _write(self, block: Block) -> None:
        """Makes the file that a block is."""
        if block.file is not None:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
            (self.folder / block.file).chmod(0o755 if block.text.startswith("#!") else 0o644)
