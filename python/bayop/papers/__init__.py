"""What the papers say, held against their data and the twin."""

from __future__ import annotations

from pathlib import Path
from typing import Final

YAWN_SERVER: Final = Path(__file__).parent / "yawn_server.toml"
"""The machine of [Y]'s evaluation; `linux-memcached@FILE` is its server."""
