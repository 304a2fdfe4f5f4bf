from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.errors import says

from bayop.carbon.files import read_stacks
from bayop.errors import InputError

GOOD = """\
name = "new server"
app = "memcached"

[work]
qps = "1.6Mqps"
power = "236.8W"

[embodied_kg]
cpu = 15.1
dram = 172.5

[network]
bytes_per_s = 5e9
uj_per_byte = 1.5
"""


def described(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "stack.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_reads_a_description(tmp_path: Path) -> None:
    (entry,) = read_stacks(described(tmp_path, GOOD))
    stack = entry.stack
    assert (stack.name, stack.app, stack.qps, stack.power_w) == ("new server", "memcached", 1.6e6, 236.8)
    assert stack.embodied_kg == {"cpu": 15.1, "dram": 172.5}
    assert (stack.network_bytes_per_s, stack.network_j_per_byte) == pytest.approx((5e9, 1.5e-6))
    assert not stack.reused
    assert entry.grid_g_per_kwh is None


def test_a_reused_machine_needs_no_embodied_carbon(tmp_path: Path) -> None:
    text = 'name = "old"\napp = "silo"\nreused = true\n[work]\nqps = "200kqps"\npower = "81W"\n'
    (entry,) = read_stacks(described(tmp_path, text))
    assert entry.stack.charged_kg == 0.0
    assert entry.stack.network_bytes_per_s == 0.0


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("cpu = 15.1", "cpus = 15.1", "stack.toml:9: there is no key 'cpus'"),
        ("[network]", "[net]", "stack.toml:12: there is no key 'net'"),
        ('app = "memcached"', 'ap = "memcached"', "stack.toml:2: there is no key 'ap'"),
        ("cpu = 15.1", "cpu = -1", "stack.toml:9"),
        ("cpu = 15.1", "cpu = nan", "stack.toml:9"),
        ('"236.8W"', "236.8", "stack.toml:6: it must be a text"),
        ('"236.8W"', '"236.8"', "stack.toml:6"),
        ('"236.8W"', '"0W"', "stack.toml:6: it must be a number above 0"),
        ('"236.8W"', '"236.8J"', "stack.toml:6"),
        ('qps = "1.6Mqps"', "", "the stack has no work.qps"),
        ('name = "new server"', "", "the stack has no name"),
        ("[embodied_kg]\ncpu = 15.1\ndram = 172.5", "", "embodied_kg is missing"),
        ("[work]", "[work", "TOML"),
    ],
)
def test_refuses_a_wrong_description(tmp_path: Path, before: str, after: str, said: str) -> None:
    assert before in GOOD
    with pytest.raises(InputError) as error:
        read_stacks(described(tmp_path, GOOD.replace(before, after)))
    assert says(error.value, said)


def test_reads_the_published_rows(data: Path) -> None:
    stacks = [entry.stack for entry in read_stacks(data / "systor_cci.csv")]
    assert [(s.app, s.name, s.reused) for s in stacks] == [
        (app, name, "node1" in name)
        for app in ("memcached", "silo")
        for name in ("linux on node1", "ebbrt on node1", "linux on node3")
    ]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("peak_qps", "peak", "there is no column peak_qps"),
        (",800000,", ",many,", "systor_cci.csv:2, peak_qps: it must be a number"),
        (",800000,", ",nan,", "systor_cci.csv:2, peak_qps"),
        (",800000,", ",-1,", "systor_cci.csv:2, peak_qps"),
        (",800000,", ",0,", "systor_cci.csv:2, peak_qps"),
    ],
)
def test_refuses_a_wrong_table(data: Path, tmp_path: Path, before: str, after: str, said: str) -> None:
    path = tmp_path / "systor_cci.csv"
    path.write_text((data / "systor_cci.csv").read_text(encoding="utf-8").replace(before, after, 1), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_stacks(path)
    assert says(error.value, said)


def test_reads_what_a_spreadsheet_saves(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "systor_cci.csv"
    published = data / "systor_cci.csv"
    path.write_text(published.read_text(encoding="utf-8"), encoding="utf-8-sig")
    assert read_stacks(path) == read_stacks(published)


def test_refuses_other_files(tmp_path: Path) -> None:
    for name, said in (
        ("stack.json", ".toml or a .csv"),
        ("none.toml", r"cannot read .*none\.toml: no such file"),
        ("none.csv", r"cannot read .*none\.csv: no such file"),
    ):
        with pytest.raises(InputError, match=said):
            read_stacks(tmp_path / name)
