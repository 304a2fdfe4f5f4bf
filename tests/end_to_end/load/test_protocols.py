"""`bayop load` against real servers, one for each protocol."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest
from tests.support.servers import load, result_of, scripted

pytestmark = pytest.mark.alone

BRIEF = ["-q", "2kqps", "-t", "1s", "-w", "0.2s", "-c", "4", "-r", "500", "--json"]


def check(result: dict[str, object], requests: int = 2000) -> None:
    """Every request that was due is accounted for, and was answered."""
    counts = result["counts"]
    assert isinstance(counts, dict)
    assert counts["intended"] == pytest.approx(requests, rel=0.2)
    assert counts["answered"] == counts["intended"]
    assert counts["misses"] == 0
    assert counts["bytes_sent"] > 0
    assert counts["bytes_received"] > 0
    latency = result["latency"]
    assert isinstance(latency, list)
    values = [row["value_us"] for row in latency]
    assert values == sorted(values)
    assert values[0] > 1


@pytest.mark.parametrize("dialect", ["memcached", "memcached-binary"])
def test_memcached(memcached: str, dialect: str) -> None:
    check(result_of(load("-s", memcached, "--protocol", dialect, "-u", "10%", *BRIEF)))


def test_facebooks_pools(memcached: str) -> None:
    check(result_of(load("-s", memcached, "--workload", "etc", *BRIEF)))
    check(result_of(load("-s", memcached, "--workload", "usr", "--popularity", "zipf:0.99", *BRIEF)))


def test_redis(redis: str) -> None:
    check(result_of(load("-s", redis, "--protocol", "redis", "-u", "10%", *BRIEF)))


def test_http_survives_that_the_server_closes_connections_after_a_hundred_requests(nginx: str) -> None:
    result = result_of(load("-s", nginx, "--protocol", "http", "--path", "/index.html", *BRIEF))
    check(result)
    assert result["counts"]["reconnects"] >= 10


def test_http_misses_and_errors(nginx: str) -> None:
    missing = load("-s", nginx, "--protocol", "http", "--path", "/none", *BRIEF)
    assert result_of(missing)["miss_ratio"] == 1.0
    busy = load("-s", nginx, "--protocol", "http", "--path", "/busy", *BRIEF)
    result = result_of(busy)
    assert busy.returncode == 1
    assert result["counts"]["refused"] == result["counts"]["intended"]
    assert result["counts"]["status_5xx"] == result["counts"]["intended"]
    assert list(result["troubles"]) == ["HTTP/1.1 503 Service Temporarily Unavailable"]


def test_a_path_has_the_number_of_a_record(nginx: str) -> None:
    """Of /item/0 to /item/3 only the first two are there."""
    flags = ["--protocol", "http", "--path", "/item/{n}", *BRIEF, "-r", "4"]
    counts = result_of(load("-s", nginx, *flags))["counts"]
    assert counts["status_2xx"] + counts["status_4xx"] == counts["answered"] == counts["intended"]
    assert counts["misses"] == counts["status_4xx"] == pytest.approx(counts["intended"] / 2, rel=0.2)
    assert (counts["status_3xx"], counts["status_5xx"]) == (0, 0)


def test_ping_pong() -> None:
    with scripted("echo") as server:
        flags = ["--protocol", "echo", "--closed-loop", "--message-size", "8192", "-t", "1s", "-w", "0s", "--json"]
        result = result_of(load("-s", server, *flags))
    counts = result["counts"]
    assert result["offered_qps"] is None
    assert counts["answered"] == counts["intended"] > 100
    assert counts["bytes_received"] == pytest.approx(8192 * counts["answered"], rel=0.01)


def test_several_servers_threads_and_connections_share_the_load(memcached: str) -> None:
    run = load("-s", memcached, "-s", memcached, "-T", "2", *BRIEF)
    check(result_of(run))


def test_records_are_stored_and_read_back(memcached: str) -> None:
    run = load("-s", memcached, "--loadonly", "-r", "300", "-K", "40", "-V", "123", "--json")
    assert result_of(run) == {"event": "stored", "records": 300, "value_bytes": 300 * 123}
    host, port = memcached.split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"get " + b"7".zfill(40) + b"\r\n")
        assert client.recv(4096).split()[3] == b"123"
    misses = result_of(load("-s", memcached, "--noload", "-K", "99", *BRIEF))
    assert misses["miss_ratio"] == 1.0


def test_depth_limits_what_is_under_way(memcached: str) -> None:
    result = result_of(load("-s", memcached, "-d", "1", "--timeout", "20s", *BRIEF, "-c", "1"))
    assert result["counts"]["queued"] > 0
    assert result["counts"]["answered"] == result["counts"]["intended"]


def test_files_for_tools(memcached: str, tmp_path: Path) -> None:
    hgrm, samples = tmp_path / "latency.hgrm", tmp_path / "samples.csv"
    result = result_of(load("-s", memcached, *BRIEF, "--hgrm", str(hgrm), "--save", str(samples)))
    assert hgrm.read_text().startswith("       Value     Percentile TotalCount 1/(1-Percentile)")
    intended, sent, received = np.loadtxt(samples, delimiter=",", skiprows=1, unpack=True)
    assert len(intended) == result["counts"]["answered"]
    assert np.all(intended <= sent)
    assert np.all(sent < received)
    p50 = np.quantile((received - intended) / 1e3, 0.5, method="inverted_cdf")
    assert result["latency"][0]["value_us"] == pytest.approx(p50, rel=2e-3)


def test_the_same_seed_intends_the_same(memcached: str, tmp_path: Path) -> None:
    def times(seed: str) -> list[float]:
        samples = tmp_path / "samples.csv"
        load("-s", memcached, *BRIEF, "--seed", seed, "--save", str(samples))
        column = np.loadtxt(samples, delimiter=",", skiprows=1, usecols=0)
        samples.unlink()
        return sorted(column.tolist())

    assert times("7") == times("7") != times("8")


@pytest.mark.slow
def test_a_narrow_interval_ends_the_run(memcached: str) -> None:
    flags = ["-q", "2kqps", "-t", "30s", "-w", "0s", "-r", "100", "--quantile", "p50", "--until-ci", "90%", "--json"]
    result = result_of(load("-s", memcached, *flags))
    assert result["ended_early"]
    assert result["duration_s"] < 29


def test_people_get_a_table_and_a_plot(memcached: str) -> None:
    run = load("-s", memcached, *BRIEF[:-1])
    for text in ("Stored and read back 500 records", "p99.99", "95 % interval", "█", "generator's lateness"):
        assert text in run.stdout, run.stdout + run.stderr
