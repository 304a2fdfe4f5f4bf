"""JSON that is read into declared types, by several threads at once."""

from __future__ import annotations

import subprocess
import sys

# Threads change places all the time, each in the middle of what another one does.
_MANY = """
import sys, threading
from bayop.live.agent import messages
from bayop.live.agent.messages import decode
sys.setswitchinterval(1e-6)
text = b'{"version":"0.1.0","mode":"apply","lease":null,"held":[],"journal":"x"}'
ready = threading.Barrier(8)
def read():
    ready.wait()
    for kind in (messages.Status, messages.MachineKnobs, messages.Applied):
        try:
            decode("a test", text, kind)
        except Exception:
            pass
threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_threads_may_meet_a_type_for_the_first_time_together() -> None:
    for _ in range(3):
        run = subprocess.run([sys.executable, "-c", _MANY], capture_output=True, text=True, check=False)
        assert (run.returncode, run.stderr) == (0, "")
