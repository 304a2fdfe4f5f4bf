from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.twin_captures import records, write_log

from bayop.errors import InputError
from bayop.interrupts.observe import LEAST_INTERRUPTS, observe
from bayop.space import FREQ_MHZ, RX_USECS
from bayop.twin.observed import Observed

COUNT = 10_000
SETTING = {RX_USECS: 50.0, FREQ_MHZ: 2000.0}

Columns = dict[str, np.ndarray]


def drawn(*, count: int = COUNT, delay_us: float = 52.0, wait_us: float = 10.0, cpu: int = 0, seed: int = 0) -> Columns:
    """A queue under Poisson packets, 0.1 a us, whose CPU is idle for 60 % of the time, in two states."""
    random = np.random.default_rng(seed)
    spacing_us = delay_us + random.exponential(wait_us, count)
    packets = random.poisson(0.1 * spacing_us)
    return {
        **records(np.cumsum(1e3 * spacing_us), packets),
        "cpu": np.full(count, cpu),
        "hard_irq_ns": np.full(count, 500),
        "soft_irq_ns": 1_500 + 400 * packets,
        "idle_ns_C1": 200 * spacing_us,
        "idle_ns_C6": 400 * spacing_us,
    }


def observed(path: Path, **changes: float | None) -> Observed:
    setting = {knob: value for knob, value in (SETTING | changes).items() if isinstance(value, float)}
    return observe(path, setting=setting, qps=None, power_w=None)


def refusal(path: Path, **changes: float | None) -> str:
    with pytest.raises(InputError) as caught:
        observed(path, **changes)
    return str(caught.value)


def test_a_log_shows_what_was_drawn(tmp_path: Path) -> None:
    columns = drawn()
    capture = observed(write_log(tmp_path / "eth0-rx-0.parquet", columns))
    duration_s = (int(columns["time_ticks"][-1]) - int(columns["time_ticks"][0])) / 1e9
    assert (capture.cpus, capture.interrupts) == (1, COUNT)
    assert capture.duration_s == pytest.approx(duration_s)
    assert capture.packets_per_s == pytest.approx(1e5, rel=0.01)
    assert capture.utilization == pytest.approx(0.4, abs=1e-3)
    assert capture.idle_shares == pytest.approx({"C1": 0.2, "C6": 0.4}, abs=1e-3)
    assert capture.freq_mhz == 2000.0
    line = capture.handlers.line()
    assert (line.fixed, line.each) == pytest.approx((2.0, 0.4))


def test_a_delay_is_in_effect_where_interrupts_wait_for_it(tmp_path: Path) -> None:
    often = observed(write_log(tmp_path / "often.parquet", drawn()))
    rarely = observed(write_log(tmp_path / "rarely.parquet", drawn(wait_us=500.0)))
    assert often.delay_us == pytest.approx(52.5, abs=0.2)
    assert rarely.delay_us is None
    assert observed(tmp_path / "often.parquet", **{RX_USECS: None}).delay_us is None


def test_a_folder_has_the_logs_of_all_queues(tmp_path: Path) -> None:
    for cpu in range(3):
        write_log(tmp_path / f"eth0-rx-{cpu}.parquet", drawn(cpu=cpu, seed=cpu))
    capture = observed(tmp_path)
    assert (capture.cpus, capture.interrupts) == (3, 3 * COUNT)
    assert capture.packets_per_s == pytest.approx(3e5, rel=0.01)
    assert capture.utilization == pytest.approx(0.4, abs=1e-3)


def test_power_is_what_the_logs_say_unless_somebody_does(tmp_path: Path) -> None:
    for cpu in range(2):
        columns = drawn(cpu=cpu, seed=cpu)
        energy_uj = 0.06 * np.diff(columns["time_ticks"], prepend=columns["time_ticks"][0])  # 60 W
        write_log(tmp_path / f"eth0-rx-{cpu}.parquet", columns | {"energy_uj": energy_uj})
    assert observed(tmp_path).power_w == pytest.approx(60.0, rel=1e-3)
    assert observe(tmp_path, setting=SETTING, qps=None, power_w=75.0).power_w == 75.0
    assert observed(write_log(tmp_path / "without.parquet", drawn())).power_w is None


def test_idle_time_of_two_queues_on_a_cpu_is_counted_once(tmp_path: Path) -> None:
    """What a record says of idle times is since the CPU's record before, which another log may have."""
    whole = drawn()
    for half in (0, 1):
        write_log(tmp_path / f"eth0-rx-{half}.parquet", {name: column[half::2] for name, column in whole.items()})
    capture = observed(tmp_path, **{RX_USECS: None})
    assert capture.cpus == 1
    assert capture.utilization == pytest.approx(0.4, abs=1e-3)


def test_a_cpu_that_took_interrupts_by_chance_is_none_of_the_servers(tmp_path: Path) -> None:
    columns = drawn()
    columns["cpu"][::1000] = 7
    capture = observed(write_log(tmp_path / "log.parquet", columns))
    assert capture.cpus == 1
    assert capture.utilization == pytest.approx(0.4, abs=2e-3)


def test_the_logs_own_frequency_is_believed(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.parquet", drawn() | {"freq_khz": np.full(COUNT, 2_030_000)})
    assert observed(log).freq_mhz == 2030.0
    assert observed(log, **{FREQ_MHZ: None}).freq_mhz == 2030.0
    assert "cpu.freq_mhz is 2900, and the log has 2030 MHz" in refusal(log, **{FREQ_MHZ: 2900.0})


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("idle_ns_", "a capture must have idle times (idle_ns_*)"),
        ("soft_irq_ns", "a capture must have the times of handlers (soft_irq_ns)"),
        ("cpu", "a capture must have the CPU of each interrupt (cpu)"),
    ],
)
def test_a_log_without_a_source_is_refused(tmp_path: Path, missing: str, message: str) -> None:
    columns = {name: column for name, column in drawn().items() if not name.startswith(missing)}
    assert message in refusal(write_log(tmp_path / "log.parquet", columns))


def test_a_published_log_has_no_idle_times(shared: Path) -> None:
    path = shared / "data" / "interrupts_netpipe_linux_default_64B.csv.gz"
    assert "a capture must have idle times" in refusal(path)


def test_too_few_interrupts_or_packets_are_refused(tmp_path: Path) -> None:
    few = write_log(tmp_path / "few.parquet", drawn(count=LEAST_INTERRUPTS - 1))
    assert "a capture must have at least 2000 interrupts, and as many packets" in refusal(few)
    columns = drawn()
    empty = write_log(tmp_path / "empty.parquet", columns | {"rx_descriptors": np.zeros(COUNT)})
    assert "cannot use '10000 and 0'" in refusal(empty)


def test_a_frequency_that_nothing_tells_is_refused(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.parquet", drawn())
    assert "the log has no frequency (freq_khz)" in refusal(log, **{FREQ_MHZ: None})


def test_a_delay_that_is_not_kept_is_refused(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.parquet", drawn())
    assert "nic.rx_usecs is 200, and half of the interrupts come within" in refusal(log, **{RX_USECS: 200.0})


def test_a_closed_loop_is_refused(tmp_path: Path) -> None:
    """One message that comes back every 60 us, give or take."""
    times = np.cumsum(np.random.default_rng(1).normal(60e3, 5e3, COUNT))
    columns = drawn() | records(times, np.ones(COUNT, np.int64))
    columns |= {"idle_ns_C1": np.full(COUNT, 1e3), "idle_ns_C6": np.full(COUNT, 1e3)}
    message = refusal(write_log(tmp_path / "log.parquet", columns))
    assert "a capture must be of an open loop" in message


def test_more_idle_time_than_time_is_refused(tmp_path: Path) -> None:
    columns = drawn()
    columns["idle_ns_C6"] = columns["idle_ns_C6"] * 3
    assert "idle times must be shorter than the capture" in refusal(write_log(tmp_path / "log.parquet", columns))


def test_cpus_that_are_hardly_idle_are_refused(tmp_path: Path) -> None:
    columns = drawn()
    columns |= {"idle_ns_C1": np.zeros(COUNT), "idle_ns_C6": columns["idle_ns_C6"] / 10}
    assert "CPUs that are idle for at least 5% of the time" in refusal(write_log(tmp_path / "log.parquet", columns))


def test_a_folder_without_logs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("later", encoding="utf-8")
    assert "a folder must have the logs of a capture" in refusal(tmp_path)
    assert "no such file" in refusal(tmp_path / "nope.parquet")
