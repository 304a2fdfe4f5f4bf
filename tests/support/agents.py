"""A real `bayop-agent` on a recorded machine whose power meter runs.

The agent is the real binary and its knobs are real files; only the kernel behind them is missing. A thread stands in
for it: it reads the knobs that were written and lets the energy counter and the processor times go on accordingly.
"""

from __future__ import annotations

import grp
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from bayop.live.agent.client import AgentClient
from bayop.live.agent.transport import UnreachableError

CAP: Final = "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw"
"""The file of `power.cap_w`."""

FOUND: Final = "120000000"
"""What is in it before BayOp, in uW."""

CLIENTS: Final = """
import json, os, time
setting, window_s = json.loads(os.environ["BAYOP_SETTING"]), float(os.environ["BAYOP_WINDOW_S"])
time.sleep(window_s)
cap_w = setting.get("power.cap_w", "auto")
cap_w = 120 if cap_w == "auto" else cap_w
print(json.dumps({"vantage": "client", "p99_us": 100 * (120 / cap_w) ** 2, "qps": 5000}))
"""
"""A program: clients whose latency is 100 us under the cap of 120 W, and grows as that falls, to 200 us at 85 W."""

NIC: Final = "ethtool/eth0.toml"
"""The file of `nic.rx_usecs`, in place of netlink."""

LEAST_DELAY_US: Final = 20.0
"""What the NIC waits at least, whatever its driver shows; and it counts in steps of 2 us."""

_PACKETS: Final = "sys/class/net/eth0/statistics/rx_packets"
_INTERRUPTS: Final = "proc/interrupts"
_ENERGY: Final = "sys/class/powercap/intel-rapl:0/energy_uj"
_FILES: Final = {
    "sys/class/powercap/intel-rapl:0/name": "package-0",
    "sys/class/powercap/intel-rapl:0/max_energy_range_uj": "262143328850",
    "sys/class/powercap/intel-rapl:0/constraint_0_name": "long_term",
    "sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw": "120000000",
    CAP: FOUND,
    NIC: "per_queue = false\n[[queue]]\nrx_usecs = 30\nadaptive_rx = 0",
    "sys/class/net/eth0/type": "1",
    "sys/class/net/eth0/ifindex": "2",
    "sys/class/net/eth0/device/msi_irqs/45": "msix",
    "proc/sys/kernel/random/boot_id": "5d4f0cf1-3b4d-4f0e-9d3c-0f6d3f5f4a11",
}
ALLOWED: Final = {
    "power.cap_w": 'places = ["*"]\nlow = 60\nhigh = 120',
    "nic.rx_usecs": 'places = ["eth0"]\nhigh = 1000',
}
"""What the agent may write unless a test says otherwise: the lines of each knob's table."""

_TICKS_PER_S: Final = 100
_ENERGY_PERIOD_S: Final = 0.001
"""How often the energy counter goes on: as Intel's does, so that a window of tenths of a second is no guess."""

_PERIODS: Final = 5
"""After how many of them the other counters do."""

_START_S: Final = 10.0


def bare_root(folder: Path) -> Path:
    """A recorded machine of which nothing is known but that it has booted, for an agent with helpers."""
    boot_id = folder / "root/proc/sys/kernel/random/boot_id"
    boot_id.parent.mkdir(parents=True)
    boot_id.write_text("test\n", encoding="ascii")
    return folder / "root"


class Machine:
    """A machine with a powercap zone of 120 W and a NIC of one queue.

    As much is drawn as the cap allows, half of the time is busy, and packets arrive at an even pace.

    Args:
        root: Its folder, which need not be there.
        packets_per_s: How many packets arrive; may be changed while it runs.

    Attributes:
        stolen: What of its time a hypervisor gives to others (0-1): 0 as on bare metal, unless it is changed.
    """

    def __init__(self, root: Path, *, packets_per_s: float = 100_000.0) -> None:
        self.root = root
        self.packets_per_s = packets_per_s
        self.stolen = 0.0
        self._uj, self._ticks, self._stolen_ticks, self._drawn_w = 5e8, 0.0, 0.0, 120.0
        self._packets, self._interrupts, self._asked_us = 0.0, 0.0, 30.0
        (root / "sys/class/net/eth0/device").mkdir(parents=True)
        (root / "sys/class/net/eth0/device/driver").symlink_to("../../../../bus/pci/drivers/ixgbe")
        for path, text in _FILES.items():
            self.write(path, text)
        self.write(_ENERGY, self._draw(0.0, b"").decode().strip())
        self._advance(0.0)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    @property
    def cap_w(self) -> float:
        """What `power.cap_w` is set to."""
        return float(self.read(CAP) or "nan") / 1e6

    def read(self, path: str) -> str:
        """The text of a file."""
        return (self.root / path).read_text(encoding="utf-8").strip()

    def write(self, path: str, text: str) -> None:
        """Overwrites a file where it is, for readers that keep it open; of one length, so that none sees half of it."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("r+b" if file.exists() else "wb", buffering=0) as raw:
            raw.write(f"{text}\n".encode())

    def _run(self) -> None:
        # A meter that lags behind shows too little power. This thread sleeps nearly always.
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        last = drawn = time.monotonic()
        # Kept open: a thousand times a second, opening them would cost more than all the rest.
        with (self.root / CAP).open("rb", buffering=0) as cap, (self.root / _ENERGY).open("r+b", buffering=0) as energy:
            while not self._over.wait(_ENERGY_PERIOD_S):
                now = time.monotonic()
                os.pwrite(energy.fileno(), self._draw(now - drawn, os.pread(cap.fileno(), 32, 0)), 0)
                drawn = now
                if now - last >= _PERIODS * _ENERGY_PERIOD_S:
                    self._advance(now - last)
                    last = now

    def _draw(self, passed_s: float, cap_uw: bytes) -> bytes:
        """What the energy counter shows after so long under a cap."""
        # The agent truncates and writes; between the two, the last cap holds for an instant longer.
        self._drawn_w = float(cap_uw) / 1e6 if cap_uw.strip() else self._drawn_w
        self._uj += self._drawn_w * passed_s * 1e6
        return f"{self._uj:015.0f}\n".encode()

    def _advance(self, passed_s: float) -> None:
        self._receive(passed_s)
        self._ticks += passed_s * _TICKS_PER_S * (1.0 - self.stolen)
        self._stolen_ticks += passed_s * _TICKS_PER_S * self.stolen
        half, stolen = f"{self._ticks / 2:010.0f}", f"{self._stolen_ticks:010.0f}"
        self.write("proc/stat", "".join(f"{cpu} {half} 0 0 {half} 0 0 0 {stolen} 0 0\n" for cpu in ("cpu ", "cpu0")))

    def _receive(self, passed_s: float) -> None:
        match = re.search(r"^rx_usecs = (\d+)", self.read(NIC), re.MULTILINE)
        self._asked_us = float(match[1]) if match else self._asked_us
        delay_us = max(self._asked_us - self._asked_us % 2, LEAST_DELAY_US) if self._asked_us else 0.0
        # The next packet after the delay raises the interrupt; without a delay each one does.
        spacing_s = max(delay_us / 1e6, 1.0 / self.packets_per_s)
        self._packets += self.packets_per_s * passed_s
        self._interrupts += passed_s / spacing_s
        self.write(_PACKETS, f"{self._packets:015.0f}")
        self.write(
            _INTERRUPTS,
            f"           CPU0\n  45: {self._interrupts:015.0f}  IR-PCI-MSIX-0000:3b:00.0  0-edge  eth0-TxRx-0",
        )


class AgentProcess:
    """The agent as a process of its own, in a folder of its own.

    Args:
        binary: `bayop-agent`.
        folder: For its configuration, socket and journal.
        root: The recorded machine.
        mode: `observe`, `advise` or `apply`.
        allow: The allow-list: for each knob the lines of its table.
        more: Further lines at the top of the configuration.
    """

    def __init__(
        self,
        binary: Path,
        folder: Path,
        root: Path,
        *,
        mode: str = "apply",
        allow: Mapping[str, str] | None = None,
        more: str = "",
    ) -> None:
        self._binary, self._folder, self._root = binary, folder, root
        state = folder / "state"
        state.mkdir(mode=0o700, exist_ok=True)
        allowed = ALLOWED if allow is None else allow
        tables = "".join(f'[allow."{knob_id}"]\n{lines}\n' for knob_id, lines in allowed.items())
        self._config = folder / "agent.toml"
        self._config.write_text(
            f'mode = "{mode}"\nsocket = "{folder}/agent.sock"\ngroup = "{grp.getgrgid(os.getegid()).gr_name}"\n'
            f'state_dir = "{state}"\n{more}\n{tables}',
            encoding="utf-8",
        )
        self._config.chmod(0o600)
        self.address = f"unix:{folder}/agent.sock"
        self.client = AgentClient.at(self.address)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(signal.SIGTERM)

    @property
    def pid(self) -> int:
        """Its process, while it runs."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Starts it and waits until it answers.

        Raises:
            UnreachableError: it does not, within ten seconds.
        """
        log = (self._folder / "log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [self._binary, "serve", "--config", self._config, "--root", self._root], stdout=log, stderr=log
            )
        self._wait(lambda: self.client.status() is not None)

    def send(self, number: signal.Signals) -> None:
        """Sends it a signal that does not end it."""
        if self._process is not None:
            self._process.send_signal(number)

    def end(self, number: signal.Signals) -> None:
        """Ends it with a signal and waits for that; nothing when it has ended."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(timeout=10)
            self._process = None

    def log(self) -> str:
        """What it has said."""
        return (self._folder / "log").read_text(encoding="utf-8")

    def _wait(self, is_done: Callable[[], bool]) -> None:
        ends = time.monotonic() + _START_S
        while True:
            try:
                if is_done():
                    return
            except UnreachableError:
                if time.monotonic() > ends or self._process is None or self._process.poll() is not None:
                    raise
            time.sleep(0.02)
