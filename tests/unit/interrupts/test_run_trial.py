from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.interrupt_logs import (
    LINES,
    MUTILATE,
    PUBLISHED_HEADER,
    PUBLISHED_ROWS,
    changed,
    ebbrt_lines,
    ebbrt_memory,
    ebbrt_nodejs_run,
    ebbrt_run,
    linux_run,
    netpipe_memory,
    nodejs_run,
    only_c7,
    write_files,
)

from bayop.errors import InputError
from bayop.interrupts.log import open_log
from bayop.interrupts.run_trial import trial_of
from bayop.interrupts.runs import EbbrtApp, find_runs
from bayop.study.trial import Row

TSC_HZ = 2_899_999_000
ENERGY_UNIT_J = 2.0**-16
SAMPLED_S = 2_900_000 / TSC_HZ
"""Between the two samples of `LINES`."""
OUT = "linux.mcd.out.0_50_0x1d00_135_200000"


def row_of(folder: Path, files: Mapping[str, str | bytes], app: EbbrtApp | None = None) -> Row:
    write_files(folder, files)
    (run,) = find_runs([path.name for path in folder.iterdir()], ebbrt_app=app)
    return trial_of(run, folder, open_log=open_log, on_log=lambda: None)


def text(lines: list[str] | tuple[str, ...]) -> str:
    return "".join(f"{line}\n" for line in lines)


def netpipe(*, core: int = 1, lines: str = text(LINES)) -> dict[str, str]:
    label = f"2_{core}_64_5000_1_0xffff_135"
    server = "SERVER_WORKLOAD_PERIOD: 10002900000 10005800000 3.6 4.4\n"
    return {
        f"linux.np.log.{label}": lines,
        f"linux.np.client.{label}": "  64 22.883602 0.00002134 0.230518\n",
        f"linux.np.server.{label}": server,
    }


def test_memcached_on_linux(tmp_path: Path) -> None:
    row = row_of(tmp_path, linux_run())
    assert row == {
        "repeat": 0,
        "target": "published",
        "machine": "unknown",
        "os": "linux",
        "app": "memcached",
        "qps_offered": 200_000,
        "vantage": "client",
        "source": OUT,
        "asked.nic.rx_usecs": 50,
        "asked.cpu.freq_mhz": 2900,
        "asked.power.cap_w": None,
        "duration_s": SAMPLED_S,
        "mean_us": 121.3, "p5_us": 70.2, "p10_us": 78.8, "p50_us": 117.3, "p90_us": 170.4, "p95_us": 189.9,
        "p99_us": 232.0,
        "qps": 200_003.4,
        # Core 0 says 300 units of package 0, core 1 400 units of package 1.
        "energy_j": 700 * ENERGY_UNIT_J,
        "energy_window_s": SAMPLED_S,
        "power_w": 700 * ENERGY_UNIT_J / SAMPLED_S,
        "instructions": 16 * 700_000,
        "cycles": 16 * 2_000_000,
        "ref_cycles": 16 * 2_900_000,
        "llc_misses": 16 * 40,
        # Four of the six records are in the window.
        "interrupts": 16 * 4,
        "rx_descriptors": 16 * 8,
        "rx_bytes": 16 * 8714,
        "tx_descriptors": 16 * 3,
        "tx_bytes": 16 * 72,
        "c1_entries": 16 * 2, "c1e_entries": 0, "c3_entries": 0, "c6_entries": 0, "c7_entries": 16 * 3,
        "interrupts_per_s": pytest.approx(16 * 3 / SAMPLED_S),
        "utilization": 1.0,
        "mean_freq_mhz": pytest.approx(2_000_000 / 2_900_000 * TSC_HZ / 1e6),
    }  # fmt: skip


def test_the_default_policy_and_a_cap(tmp_path: Path) -> None:
    default = row_of(tmp_path / "default", linux_run("0_1_0xffff_135_200000"))
    capped = row_of(tmp_path / "capped", linux_run("0_8_0xc00_55_200000"))
    columns = ["asked.nic.rx_usecs", "asked.cpu.freq_mhz", "asked.power.cap_w"]
    assert [default[name] for name in columns] == [None, None, None]
    assert [capped[name] for name in columns] == [8, 1200, 55]


def test_silo_is_served_by_fifteen_cores(tmp_path: Path) -> None:
    row = row_of(tmp_path, linux_run(name="linux.mcdsilo"))
    assert (row["app"], row["instructions"], row["energy_j"]) == ("silo", 15 * 700_000, 700 * ENERGY_UNIT_J)


@pytest.mark.parametrize(("ref_cycles", "share"), [(290_000, 0.1), (2_920_000, 1.0)])
def test_utilization_is_of_the_cores_that_serve_and_never_more_than_all(
    tmp_path: Path, ref_cycles: int, share: float
) -> None:
    log = text(changed(LINES, 4, 7, str(3_000_000 + ref_cycles), " "))
    files = {name: log if ".dmesg." in name else content for name, content in linux_run().items()}
    assert row_of(tmp_path, files)["utilization"] == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize("core", [0, 1, 6])
def test_netpipe_has_the_energy_of_its_cores_package(tmp_path: Path, core: int) -> None:
    row = row_of(tmp_path, netpipe(core=core))
    assert (row["app"], row["repeat"], row["message_bytes"], row["roundtrips"]) == ("netpipe", 2, 64, 5000)
    assert "qps_offered" not in row
    assert row["goodput_mibit_s"] == 22.883602
    assert row["roundtrip_us"] == pytest.approx(2 * 21.34, abs=0.01)
    assert row["energy_j"] == 300 * ENERGY_UNIT_J
    assert row["interrupts"] == 4
    assert row["duration_s"] == SAMPLED_S


def test_ebbrt_counts_entries_into_its_one_idle_state(tmp_path: Path) -> None:
    row = row_of(tmp_path, ebbrt_run(), "memcached")
    assert (row["os"], row["app"], row["asked.nic.rx_usecs"]) == ("ebbrt", "memcached", 50)
    assert row["energy_j"] == 2 * 300 * ENERGY_UNIT_J
    # Each sample has those since the record before; what is before the first sample is not counted.
    assert row["c7_entries"] == 16 * 5
    assert "c6_entries" not in row
    assert row["interrupts"] == 16 * 4


def test_ebbrts_window_ends_with_the_load(tmp_path: Path) -> None:
    files = ebbrt_run()
    clock, out = "ebbrt_rdtsc.0_50_0x1d00_135_200000_c7", "ebbrt_out.0_50_0x1d00_135_200000_c7"
    # No end, which silo's script does not read: 0.1 s after the start every record is inside.
    late = files | {clock: "10002900000 0\n", out: MUTILATE.replace("20.0s", "0.1s")}
    row = row_of(tmp_path / "silo", late, "silo")
    assert row["interrupts"] == 15 * 5
    assert row["duration_s"] == pytest.approx(0.1)
    with pytest.raises(InputError, match="a run must end after it began"):
        row_of(tmp_path / "memcached", late, "memcached")


def test_netpipe_on_ebbrt(tmp_path: Path) -> None:
    label = "2_8192_5000_6_0x1600_55"
    out = "2 8192 5000 0x1600 55 6 3.7644 4.7438 2835.3799 22.0429 10002900000 10005800000\n"
    files = {f"ebbrt.np.out.{label}": out, f"ebbrt.dmesg.{label}": text(ebbrt_lines()[1:])}
    row = row_of(tmp_path / "good", files)
    assert (row["asked.nic.rx_usecs"], row["asked.cpu.freq_mhz"], row["asked.power.cap_w"]) == (6, 2200, 55)
    assert (row["message_bytes"], row["interrupts"], row["energy_j"]) == (8192, 4, 300 * ENERGY_UNIT_J)
    for old, new in (("2 8192", "3 8192"), (" 6 ", " 8 "), ("0x1600", "22"), ("55", "135")):
        with pytest.raises(InputError) as caught:
            row_of(tmp_path / "bad", files | {f"ebbrt.np.out.{label}": out.replace(old, new, 1)})
        assert str(caught.value.place).endswith(f"ebbrt.np.out.{label}")


NODEJS = {"p50_us": 60.0, "p75_us": 65.5, "p90_us": 80.0, "p99_us": 1250.0, "mean_us": 61.5, "qps": 16_000.5}


@pytest.mark.parametrize(("os", "files"), [("linux", nodejs_run()), ("ebbrt", ebbrt_nodejs_run())])
def test_nodejs_has_the_energy_of_its_cores_package(tmp_path: Path, os: str, files: Mapping[str, str]) -> None:
    row = row_of(tmp_path, files)
    assert (row["os"], row["app"], row["repeat"]) == (os, "nodejs", 2)
    assert (row["asked.nic.rx_usecs"], row["asked.cpu.freq_mhz"], row["asked.power.cap_w"]) == (8, 2500, 55)
    assert {name: row[name] for name in NODEJS} == NODEJS
    assert not {"qps_offered", "message_bytes", "suspect"} & row.keys()
    assert (row["interrupts"], row["instructions"], row["energy_j"]) == (4, 700_000, 300 * ENERGY_UNIT_J)
    assert row["duration_s"] == SAMPLED_S
    assert row["c7_entries"] == {"linux": 3, "ebbrt": 5}[os]


def test_failed_requests_make_a_run_suspect(tmp_path: Path) -> None:
    files = {name: content.replace("Requests/sec", "Non-2xx or 3xx responses: 1\nRequests/sec") for name, content
             in nodejs_run().items()}  # fmt: skip
    assert row_of(tmp_path, files)["suspect"] == "load_errors"


def test_ebbrts_memory_says_what_its_text_does(tmp_path: Path) -> None:
    text_row, memory = row_of(tmp_path / "text", ebbrt_run(), "memcached"), ebbrt_memory(ebbrt_lines()[1:])
    files: dict[str, str | bytes] = {
        name.removesuffix(".csv"): memory if name.endswith(".csv") else content for name, content in ebbrt_run().items()
    }
    assert row_of(tmp_path / "memory", files, "memcached") == text_row


def test_netpipes_memory_tells_of_its_run(tmp_path: Path) -> None:
    label = "2_8192_5000_6_0x1600_55"
    out = "2 8192 5000 0x1600 55 6 3.7500 4.7500 2835.3799 22.5000 10002900000 10005800000\n"
    lines = only_c7(ebbrt_lines()[1:])
    row = row_of(tmp_path / "text", {f"ebbrt.np.out.{label}": out, f"ebbrt.dmesg.{label}": text(lines)})
    memory = row_of(tmp_path / "memory", {f"ebbrt.bin.{label}": netpipe_memory(lines)})
    assert memory == {**row, "source": f"ebbrt.bin.{label}"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("ebbrt.bin.2_8192_5000_6_0x1600_55", netpipe_memory(ebbrt_lines()[1:], bytes=64), "and its name says"),
        ("ebbrt.bin.2_8192_5000_6_0x1600_55", netpipe_memory(ebbrt_lines()[1:], goodput=0.0), "the goodput must be"),
        ("ebbrt.bin.2_8192_5000_6_0x1600_55", netpipe_memory(ebbrt_lines()[1:], end=0), "a run must end after"),
        (
            "ebbrt.bin.2_8192_5000_6_0x1600_55",
            netpipe_memory(ebbrt_lines()[1:], records=7, room=0),
            "must have all records",
        ),
        ("ebbrt.bin.2_8192_5000_6_0x1600_55", ebbrt_memory(ebbrt_lines()[1:]), "the log must be NetPIPE's memory"),
        ("ebbrt_dmesg.2_1_8_0x1900_55_c7.csv", netpipe_memory(ebbrt_lines()[1:]), "must not be NetPIPE's memory"),
        ("ebbrt_dmesg.2_1_8_0x1900_55_c7.csv", ebbrt_memory(ebbrt_lines()[1:])[:-1], "must have 88 bytes"),
    ],
)
def test_memory_of_another_run_or_a_part_of_it_is_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    files = {name: content} if name.startswith("ebbrt.bin") else ebbrt_nodejs_run() | {name: content}
    with pytest.raises(InputError) as caught:
        row_of(tmp_path, files)
    assert message in caught.value.message
    assert str(caught.value.place).startswith(str(tmp_path / name))


LOG = "linux.mcd.dmesg.0_7_50_0x1d00_135_200000"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (LOG, "", "the log is empty"),
        (LOG, "\x00\x01\x02", "an interrupt log must be intlog's text, EbbRT's memory, a CSV file or Parquet"),
        (
            LOG,
            text(ebbrt_lines()),
            "cannot use 'intlog of EbbRT': the log of a run on linux must be intlog's text of it",
        ),
        (LOG, text([PUBLISHED_HEADER, *PUBLISHED_ROWS]), "the log of a run on linux must be intlog's text of it"),
        (LOG, text(LINES[:1]), "a log must have records in the window of its run"),
        (
            LOG,
            text(LINES[:4]),
            "cannot use 1: a log must have samples of the counters over some time in the window of its run",
        ),
        (LOG, text(changed(LINES, 2, 2, "-1", " ")), "line 3, column rx_bytes"),
        (OUT, "", "mutilate must have printed Total QPS"),
        ("linux.mcd.rdtsc.0_50_0x1d00_135_200000", "0 1 2\n", "two time stamps"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        row_of(tmp_path, linux_run() | {name: content})
    assert message in caught.value.message
    assert str(caught.value.place).startswith(f"{tmp_path / name}")


def test_a_message_of_another_size_than_the_name_says(tmp_path: Path) -> None:
    files = {name: content.replace("64 22", "65 22") for name, content in netpipe().items()}
    with pytest.raises(InputError, match="the file is of 65, and its name says 64"):
        row_of(tmp_path, files)


def test_every_log_is_reported_when_it_was_read(tmp_path: Path) -> None:
    write_files(tmp_path, linux_run())
    (run,) = find_runs([path.name for path in tmp_path.iterdir()])
    read: list[None] = []
    trial_of(run, tmp_path, open_log=open_log, on_log=lambda: read.append(None))
    assert len(read) == 16
