from __future__ import annotations

from bayop.report.study.words import (
    axis_label,
    message_size,
    percent,
    setting_name,
    system_name,
    system_names,
    workload_name,
)


def test_quantities_carry_their_units() -> None:
    assert axis_label("p999_us") == "p999 latency (us)"
    assert axis_label("power_w") == "power (W)"
    assert axis_label("instructions_per_request") == "instructions per request"


def test_workloads() -> None:
    assert (
        workload_name({"app": "memcached", "qps_offered": 6e5, "target": "published"}) == "memcached, 600K requests/s"
    )
    assert workload_name({"app": "netpipe", "message_bytes": 65536, "target": "twin"}) == "simulated netpipe, 64 KB"
    assert workload_name({}) == "service"
    assert [message_size(b) for b in (64, 1000, 524288)] == ["64 B", "1000 B", "512 KB"]


def test_systems_are_named_by_what_tells_them_apart() -> None:
    linux, ebbrt = {"os": "linux", "machine": "a"}, {"os": "ebbrt", "machine": "b"}
    assert system_names([linux, ebbrt]) == ["Linux", "EbbRT"]
    assert system_names([linux, {"os": "linux", "machine": "b"}]) == ["a", "b"]
    assert system_names([linux]) == ["Linux"]
    assert system_names([{}]) == ["server"]


def test_machines_of_one_name_are_told_apart_by_their_fingerprints() -> None:
    old, new = ({"os": "linux", "machine": "a", "machine_fingerprint": text} for text in ("2eff", "91ab"))
    assert system_names([old, new]) == ["2eff", "91ab"]


def test_one_system_is_named_as_among_all_of_its_workload() -> None:
    among = [{"app": "silo", "os": "linux", "machine": machine} for machine in ("a", "b")]
    assert [system_name(condition, among) for condition in among] == ["a", "b"]
    assert system_name({"os": "linux", "machine": "b"}, among) == "b"
    assert system_name({"app": "silo", "os": "linux", "machine": "a", "power_w": 1.0}, among[:1]) == "Linux"


def test_settings() -> None:
    assert setting_name({}) == "default"
    setting = {"power.cap_w": 95.0, "nic.rx_usecs": 300.0, "cpu.freq_mhz": 1700.0, "nic.rx_frames": 8.0}
    assert setting_name(setting) == "300 us, 1.7 GHz, 95 W cap, rx_frames 8"
    assert setting_name({"cpu.epp": "power"}) == "epp power"


def test_numbers() -> None:
    assert percent(-0.031) == "\N{MINUS SIGN}3.1 %"
