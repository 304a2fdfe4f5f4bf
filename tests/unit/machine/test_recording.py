"""What a recording of a machine must not tell."""

from __future__ import annotations

import re

import pytest

from bayop import _core
from bayop.machine.recording import anonymous

MACHINE = """\
=== proc/sys/kernel/osrelease
6.1.0-18-amd64
=== proc/interrupts
           CPU0
  45:        102  IR-PCI-MSIX-0000:3b:00.0    0-edge      enx525400123456-TxRx-0
=== sys/class/net/eno1np0/type
1
=== sys/class/net/enx525400123456/type
1
=== sys/class/net/wg-acme/type
65534
=== ethtool/enx525400123456.toml
per_queue = false
=== sys/devices/ACPI000D:00/name
power_meter
=== sys/class/powercap/intel-rapl:0:0/name
dram
"""


def test_what_tells_nothing_stays_and_telling_devices_are_renamed() -> None:
    text = anonymous(MACHINE, host="web1")
    assert "525400123456" not in text
    assert "acme" not in text
    for name in ("6.1.0-18-amd64", "0000:3b:00.0", "ACPI000D:00", "intel-rapl:0:0", "eno1np0/type", "net0-TxRx-0"):
        assert name in text, name
    assert {"sys/class/net/net0/type", "ethtool/net0.toml", "sys/class/net/net1/type"} <= set(
        re.findall(r"^=== (\S+)", text, re.MULTILINE)
    )


@pytest.mark.parametrize(
    "secret",
    [
        "52:54:00:ab:cd:EF",
        "0b1d2e3f-1234-4cde-8f00-0123456789ab",
        "10.0.0.7",
        "2001:db8:85a3::8a2e:370:7334",
        "fe80::1",
        "2001:db8:0:0:1:0:0:1",
        "web1",
        "WEB1.example.org",
    ],
)
def test_addresses_and_names_are_replaced_wherever_they_stand(secret: str) -> None:
    text = anonymous(f"=== sys/class/dmi/id/product_name !write\nServer of {secret}\n", host="web1.example.org")
    assert secret.lower() not in text.lower()
    assert "Server of" in text


def test_a_recording_can_be_unpacked_and_examined(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("machine")
    text = anonymous(_core.record_machine(), host="web1")
    assert text.startswith("# Recorded by bayop doctor --bundle")
    _core.unpack_machine(text, folder)
    assert {f["check"] for f in _core.examine(root=folder)} == {f["check"] for f in _core.examine()}
