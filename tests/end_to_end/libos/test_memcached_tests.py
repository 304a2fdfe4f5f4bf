"""The most telling of memcached's own tests, on the library OS and on Debian's; the page has them all."""

from __future__ import annotations

import pytest
from bench.libos.memcached.run import PASSES, measure
from bench.libos.memcached.source import source
from tests.support.needs import need, require

from bayop.errors import UnsupportedError

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("libos_image")]

NAMES = ["binary-get", "cas", "expirations", "flags", "incrdecr", "malicious-commands", "noreply", "udp"]


def test_its_own_tests_pass_as_with_debians() -> None:
    need("memcached", "perl")
    try:
        source()
    except UnsupportedError as error:
        require(False, error.message, "apt-get update")  # noqa: FBT003 -- it is not there
    rows = list(measure(NAMES))
    assert [(row.test, row.result, row.missed) for row in rows] == [(name, PASSES, 0) for name in NAMES]
