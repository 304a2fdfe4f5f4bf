from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.interrupt_logs import ebbrt_nodejs_run, ebbrt_run, linux_run, nodejs_run

from bayop.errors import InputError
from bayop.interrupts.runs import EbbrtApp, Label, Run, find_runs

NETPIPE = {role: f"linux.np.{role}.0_1_64_5000_8_0x1900_135" for role in ("log", "client", "server")}
EBBRT_NETPIPE = ["ebbrt.dmesg.2_8192_5000_6_0x1600_55", "ebbrt.np.out.2_8192_5000_6_0x1600_55"]


def refusal(names: list[str], ebbrt_app: EbbrtApp | None = None) -> InputError:
    with pytest.raises(InputError) as caught:
        find_runs(names, ebbrt_app=ebbrt_app)
    return caught.value


def test_memcached_and_silo_on_linux_have_a_log_of_every_core_that_serves() -> None:
    names = [*linux_run("3_50_0x1d00_75_200000"), *linux_run("0_1_0xffff_135_50000", name="linux.mcdsilo")]
    memcached, silo = find_runs([*names, "linux.mcd.stats.3_50_0x1d00_75_200000", "README"])
    assert (memcached.os, memcached.app, silo.app) == ("linux", "memcached", "silo")
    assert memcached.label == Label(3, 50, 0x1D00, 75, qps=200_000)
    assert memcached.logs == {core: f"linux.mcd.dmesg.3_{core}_50_0x1d00_75_200000" for core in range(16)}
    assert memcached.client == "linux.mcd.out.3_50_0x1d00_75_200000"
    assert memcached.clock == "linux.mcd.rdtsc.3_50_0x1d00_75_200000"
    assert list(silo.logs) == list(range(15))


def test_netpipe_is_served_by_the_core_that_its_files_name() -> None:
    (run,) = find_runs(NETPIPE.values())
    label = Label(0, 8, 0x1900, 135, message_bytes=64, roundtrips=5000)
    assert run == Run("linux", "netpipe", label, {1: NETPIPE["log"]}, NETPIPE["client"], NETPIPE["server"])


def test_netpipe_on_ebbrt_has_its_time_stamps_in_the_clients_file() -> None:
    (run,) = find_runs(EBBRT_NETPIPE)
    label = Label(2, 6, 0x1600, 55, message_bytes=8192, roundtrips=5000)
    assert run == Run("ebbrt", "netpipe", label, {0: EBBRT_NETPIPE[0]}, EBBRT_NETPIPE[1], None)


@pytest.mark.parametrize(("app", "cores"), [("memcached", 16), ("silo", 15)])
def test_what_served_on_ebbrt_is_told(app: EbbrtApp, cores: int) -> None:
    (run,) = find_runs(ebbrt_run(cores=cores), ebbrt_app=app)
    assert (run.os, run.app, len(run.logs)) == ("ebbrt", app, cores)
    assert run.logs[9] == "ebbrt_dmesg.0_9_50_0x1d00_135_200000_c7.csv"


def test_runs_come_in_the_order_of_their_numbers() -> None:
    labels = ["10_2_0x1d00_135_200000", "2_10_0x1d00_135_200000", "2_2_0x1d00_135_200000", "2_2_0xd00_135_200000"]
    runs = find_runs(name for label in labels for name in linux_run(label))
    order = [(run.label.repeat, run.label.itr_us, run.label.dvfs) for run in runs]
    assert order == [(2, 2, 0xD00), (2, 2, 0x1D00), (2, 10, 0x1D00), (10, 2, 0x1D00)]


@pytest.mark.parametrize(
    ("dvfs", "rapl_w", "setting"),
    [
        (0x1D00, 55, (50, 2900, 55)),
        (0xC00, 135, (50, 1200, None)),
        (0xFFFF, 135, (None, None, None)),
        (0xFFFF, 95, (None, None, 95)),
    ],
)
def test_what_was_asked(dvfs: int, rapl_w: int, setting: tuple[int | None, ...]) -> None:
    label = Label(0, 50, dvfs, rapl_w)
    assert (label.rx_usecs, label.freq_mhz, label.cap_w) == setting


def test_one_number_may_be_spelled_in_two_ways_but_not_in_two_files_of_a_role() -> None:
    names = [name.replace("0x1d00", "0x1D00") if ".out." in name else name for name in linux_run()]
    assert find_runs(names)[0].client == "linux.mcd.out.0_50_0x1D00_135_200000"
    error = refusal([*names, "linux.mcd.out.0_50_0x1d00_135_200000"])
    assert "a run must have each of its files once" in error.message


@pytest.mark.parametrize("missing", sorted(linux_run()))
def test_a_missing_file_is_named(missing: str) -> None:
    error = refusal([name for name in linux_run() if name != missing])
    assert error.message == f"there is no {missing}; a run must have all of its files"
    assert str(error.hint).endswith("is of this run")


@pytest.mark.parametrize("missing", ["log", "client", "server"])
def test_a_missing_file_of_netpipe_is_named(missing: str) -> None:
    error = refusal([name for role, name in NETPIPE.items() if role != missing])
    assert f"no {NETPIPE[missing]}" in error.message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("linux.mcd.dmesg.0_0_50_0x1d00_135", "linux.mcd.dmesg.REPEAT_CORE_ITR_DVFS_RAPL_QPS"),
        ("linux.mcd.out.0_50_1d00_135_200000", "linux.mcd.out.REPEAT_ITR_DVFS_RAPL_QPS"),
        ("linux.np.client.0_1_64_5000_8_0x1900_135.txt", "linux.np.client.REPEAT_CORE_BYTES_LOOP_ITR_DVFS_RAPL"),
        ("ebbrt_out.0_50_0x1d00_135_200000", "ebbrt_out.REPEAT_ITR_DVFS_RAPL_QPS_SLEEP"),
        (
            "linux.mcd.dmesg.0_16_50_0x1d00_135_200000",
            "the server of a run must have 16 cores, like the papers'",
        ),
    ],
)
def test_a_name_that_only_begins_like_a_runs(name: str, message: str) -> None:
    error = refusal([*linux_run(), name])
    assert message in error.message
    assert error.value == name


def test_ebbrts_memory_is_a_log_unless_its_text_is_there() -> None:
    memory = "ebbrt_dmesg.0_3_50_0x1d00_135_200000_c7"
    (both,) = find_runs([*ebbrt_run(), memory], ebbrt_app="memcached")
    assert both.logs[3] == f"{memory}.csv"
    (one,) = find_runs([*ebbrt_run().keys() - {f"{memory}.csv"}, memory], ebbrt_app="memcached")
    assert (one.logs[3], one.logs[4]) == (memory, "ebbrt_dmesg.0_4_50_0x1d00_135_200000_c7.csv")
    (netpipe,) = find_runs(["ebbrt.bin.2_8192_5000_6_0x1600_55"])
    label = Label(2, 6, 0x1600, 55, message_bytes=8192, roundtrips=5000)
    name = "ebbrt.bin.2_8192_5000_6_0x1600_55"
    assert netpipe == Run("ebbrt", "netpipe", label, {0: name}, name, None)


def test_nodejs_is_served_by_one_core() -> None:
    linux, ebbrt = find_runs([*nodejs_run(), *ebbrt_nodejs_run(), "linux.node.tshark.0"])
    label = Label(2, 8, 0x1900, 55)
    files = [f"linux.node.server.{role}.2_1_8_0x1900_55" for role in ("log", "out", "rdtsc")]
    assert linux == Run("linux", "nodejs", label, {1: files[0]}, files[1], files[2])
    log, out = (f"ebbrt_{role}.2_1_8_0x1900_55_c7" for role in ("dmesg", "out"))
    assert ebbrt == Run("ebbrt", "nodejs", label, {1: f"{log}.csv"}, out, "ebbrt_rdtsc.2_8_0x1900_55_c7")


def test_nodejs_and_memcached_on_ebbrt_are_told_apart_by_their_names() -> None:
    runs = find_runs([*ebbrt_run(), *ebbrt_nodejs_run()], ebbrt_app="memcached")
    assert [run.app for run in runs] == ["memcached", "nodejs"]


@pytest.mark.parametrize("missing", sorted([*nodejs_run(), *ebbrt_nodejs_run()]))
def test_a_missing_file_of_nodejs_is_named(missing: str) -> None:
    error = refusal([name for name in (*nodejs_run(), *ebbrt_nodejs_run()) if name != missing])
    assert f"there is no {missing};" in error.message


def test_ebbrts_runs_need_to_be_told_apart() -> None:
    error = refusal(list(ebbrt_run()))
    assert (error.place, error.hint) == ("ebbrt_app", "say memcached or silo")
    assert (
        "cannot use 'ebbrt_dmesg.0_0_50_0x1d00_135_200000_c1e.csv': a run of EbbRT must halt to c7"
        in refusal(list(ebbrt_run("0_50_0x1d00_135_200000_c1e")), "silo").message
    )


def test_a_folder_without_runs_says_what_is_looked_for() -> None:
    hint = str(refusal(["sweep.csv", "notes"]).hint)
    assert "linux.mcd.dmesg.REPEAT_CORE_ITR_DVFS_RAPL_QPS" in hint
    assert "ebbrt_dmesg.REPEAT_CORE_ITR_DVFS_RAPL_QPS_SLEEP.csv" in hint


NUMBERS = st.integers(0, 999_999_999)


@given(NUMBERS, NUMBERS, st.integers(0, 0xFFFF), NUMBERS, NUMBERS)
def test_every_label_comes_back(repeat: int, itr_us: int, dvfs: int, rapl_w: int, qps: int) -> None:
    (run,) = find_runs(linux_run(f"{repeat}_{itr_us}_{dvfs:#x}_{rapl_w}_{qps}"))
    assert run.label == Label(repeat, itr_us, dvfs, rapl_w, qps=qps)


@given(st.sampled_from(sorted([*linux_run(), *NETPIPE.values()])), st.integers(0, 60), st.text(max_size=2))
def test_a_damaged_name_is_refused_unless_it_says_the_same(name: str, at: int, put: str) -> None:
    whole = {*linux_run(), *NETPIPE.values()}
    try:
        runs = find_runs(whole - {name} | {name[:at] + put + name[at + 1 :]})
    except InputError:
        return
    assert [run.label for run in runs] == [run.label for run in find_runs(whole)]
