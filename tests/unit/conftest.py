from __future__ import annotations

import shlex
import sys

import pytest


@pytest.fixture(scope="session")
def clients() -> str:
    """A command: clients whose latency is 100 us under a cap of 120 W, and grows to 200 us at 85 W."""
    code = """
import json, os, time
setting, window_s = json.loads(os.environ["BAYOP_SETTING"]), float(os.environ["BAYOP_WINDOW_S"])
time.sleep(window_s)
cap_w = setting.get("power.cap_w", 120)
print(json.dumps({"vantage": "client", "p99_us": 100 * (120 / cap_w) ** 2, "qps": 5000}))
"""
    return shlex.join([sys.executable, "-S", "-c", code])
