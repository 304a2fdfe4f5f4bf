"""What an application prepares once, such as an index: a folder that is kept while its definition stays the same."""

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
    """Where it is, or will be: below /var/cache for root, else below the user's own folder of caches."""
    content = json.dumps([application.prepare, dict(application.files)], sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()[:16]
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    root = Path("/var/cache" if os.geteuid() == 0 else caches)
    return root / "bayop" / "applications" / f"{application.name}-{digest}"


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
