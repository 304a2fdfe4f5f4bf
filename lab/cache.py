"""Built files under build/lab/, each named by what it was made from, so that nothing is built twice."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from lab.packages import BUILD


def cached(name: str, inputs: Iterable[str | Path], make: Callable[[Path], None]) -> Path:
    """The folder that `make` filled for these inputs, now or on an earlier day.

    Args:
        name: What is built.
        inputs: Everything that decides the result: texts, and files by their content.
        make: Fills an empty folder. When it raises, or the process dies, nothing is kept.
    """
    folder = BUILD / f"{name}-{_digest(inputs)}"
    if folder.is_dir():
        return folder
    BUILD.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=BUILD))
    work.chmod(0o755)
    try:
        make(work)
        if not folder.is_dir():  # somebody else was faster: the contents are the same
            work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def _digest(inputs: Iterable[str | Path]) -> str:
    digest = hashlib.sha256()
    for item in inputs:
        content = item.read_bytes() if isinstance(item, Path) else item.encode()
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()[:16]
