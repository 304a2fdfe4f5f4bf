"""The library OS in an emulated machine, as `make libos` built it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.needs import need, require

from bayop.errors import UnsupportedError
from lab.libos import LibraryOs, image


@pytest.fixture(scope="session")
def libos_image() -> None:
    """Skips what needs QEMU or the image where they are not, or fails it where nothing may be skipped."""
    need("qemu-system-x86_64", "setpriv")
    try:
        image()
    except UnsupportedError as error:
        require(False, error.message, str(error.hint))  # noqa: FBT003 -- it is not there


@pytest.fixture(scope="module")
def memcached_os(libos_image: None) -> Iterator[LibraryOs]:  # noqa: ARG001 -- it only has to be there
    """A memcached on the library OS, shared by the tests of a module; it must outlive them."""
    with LibraryOs("app=memcached memory=16") as machine:
        yield machine
        assert machine.is_up, machine.console
