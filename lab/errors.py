"""What can go wrong in the lab; in the one shape of `bayop.errors`."""

from __future__ import annotations

from bayop.errors import BayopError, UnsupportedError

__all__ = ["CommandError", "LabError", "UnsupportedError"]


class LabError(BayopError):
    """The emulated server, or a program that builds it, did not do what it should: exit code 1."""


class CommandError(LabError):
    """A command in the guest failed."""
