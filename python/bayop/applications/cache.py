"""What is kept for an application while its definition stays the same: its index, for one, and packages of npm."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from bayop.applications.definition import Application


def cache_folder(application: Application) -> Path:
    """Where what it prepares is, or will be: below /var/cache for root, else below the user's own folder of caches."""
    return _folder(application.name, [application.prepare, dict(application.files)])


def packages_folder(application: Application) -> Path:
    """Where its packages of PyPI and npm are, or will be, likewise."""
    return _folder(f"{application.name}-packages", [application.packages.get(registry) for registry in ("pypi", "npm")])


def _folder(name: str, of: object) -> Path:
    content = json.dumps(of, sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    root = Path("/var/cache" if os.geteuid() == 0 else caches)
    return root / "bayop" / "applications" / f"{name}-{digest}"


@contextmanager
def new_cache(cache: Path) -> Iterator[Path]:
    """A folder to fill, brought to its place at the end: what is there is whole, and an error leaves nothing."""
    cache.parent.mkdir(parents=True, exist_ok=True)
    filling = Path(mkdtemp(prefix="new-", dir=cache.parent))
    try:
        yield filling
        try:
            filling.rename(cache)
        except OSError:
            # Another start was faster: what it has made is the same.
            if not cache.exists():
                raise
    finally:
        shutil.rmtree(filling, ignore_errors=True)
