from __future__ import annotations

import pytest

from bayop.errors import InputError
from bayop.experiments.idle.policy import OFF, POLICIES, Policy
from bayop.twin.profile_library import load_profile
from bayop.twin.windows import simulate

SERVER = load_profile("linux-memcached")


def test_with_idle_states_off_no_core_sleeps_and_power_is_the_greatest() -> None:
    runs = [policy.run(SERVER, 20e3, requests=2_000, seed=1) for policy in POLICIES]
    power_w = {p.name: window["power_w"] for p, window in zip(POLICIES, simulate(SERVER, runs, threads=1), strict=True)}
    assert len(power_w) == len(POLICIES)
    assert max(power_w, key=power_w.__getitem__) == OFF.name


def test_a_setting_stands_beside_the_policy() -> None:
    run = OFF.run(SERVER, 20e3, requests=2_000, seed=1, setting={"cpu.freq_mhz": 1500})
    assert run.get("setting") == {"cpu.freq_mhz": 1500.0, "idle.max_latency_us": 0.0}


def test_what_a_server_can_t_have_is_refused() -> None:
    with pytest.raises(InputError, match="a wake balancer must have "):
        Policy("yawn", "yawn", "yawn").server(load_profile("ebbrt-memcached"))
    with pytest.raises(InputError, match="cannot use 'doze'"):
        Policy("doze", "doze").server(SERVER)
