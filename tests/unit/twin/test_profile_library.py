from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayop.errors import InputError
from bayop.twin import profile_library
from bayop.twin.profile_library import load_profile, parse_profile, profile_names, read_profile

TAILBENCH = ("linux-img-dnn", "linux-sphinx", "linux-xapian")
MACHINES = ("epyc-ena", "xeon-e5-2630-v3", "xeon-e5-2690", "xeon-silver-4314")


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_built_in_profiles() -> None:
    assert {"ebbrt-memcached", "ebbrt-silo", "linux-memcached", "linux-silo", *TAILBENCH} <= set(profile_names())
    for name in profile_names():
        profile = load_profile(name)
        assert profile.name == f"{name.partition('-')[2]} on {'Linux' if name.startswith('linux') else 'EbbRT'}"
        assert parse_profile(profile.to_toml(), source="again") == profile


def test_complete_profiles_keep_their_comments() -> None:
    text, source = read_profile("linux-memcached")
    assert source == "linux_memcached.toml"
    assert "# [fit]" in text


def test_every_service_runs_on_every_machine() -> None:
    for name in ("linux-memcached", *TAILBENCH):
        for machine in MACHINES:
            profile = load_profile(f"{name}@{machine}")
            assert profile.name == load_profile(name).name
    assert load_profile("linux-xapian@epyc-ena").freq_mhz == [1500, 2000, 2500]
    assert load_profile("linux-xapian@epyc-ena").knobs()["nic.rx_usecs"] == (50, 1000, 50)


def test_what_never_settles_is_spelled_so() -> None:
    text, _ = read_profile("linux-memcached@xeon-silver-4314")
    profile = load_profile("linux-memcached@xeon-silver-4314")
    assert text.count('settle_us = "never"') == profile.to_toml().count('settle_us = "never"') == 3


@pytest.mark.parametrize("name", ["linux-memcached", "linux-silo", *TAILBENCH])
def test_the_papers_machine_is_that_of_the_built_in_profiles(name: str) -> None:
    assert load_profile(f"{name}@xeon-e5-2690") == load_profile(name)


def test_a_machine_brings_what_its_driver_does_by_default_and_no_more() -> None:
    here = tomllib.loads(read_profile("linux-memcached")[0])
    there = tomllib.loads(read_profile("linux-memcached@xeon-silver-4314")[0])
    changed = {key for key, value in there["os"].items() if value != here["os"].get(key)}
    driver = {"moderation", "default_rx_usecs"}
    assert changed == driver | {"name", "frequency_governor", "cost_factor", "idle_loop_us", "idle_exit_kcycles"}
    assert there["app"] == {**here["app"], "network_us": 30}


def test_a_machine_may_differ_under_one_operating_system_only() -> None:
    linux, ebbrt = (load_profile(f"{name}-memcached@xeon-e5-2630-v3") for name in ("linux", "ebbrt"))
    assert (linux.serving_cores, ebbrt.serving_cores) == (32, 16)
    assert linux.values()["machine.power.static_w"] == 37.9
    assert ebbrt.values()["machine.power.static_w"] == 40.5


def test_a_file_may_start_from_another_profile(tmp_path: Path) -> None:
    mine = write(tmp_path / "mine.toml", 'base = "linux-xapian"\nname = "mine"\n[app]\nservice_log_sd = 0.5\n')
    profile = load_profile(mine)
    assert profile.name == "mine"
    assert profile.values() == load_profile("linux-xapian").values() | {"app.service_log_sd": 0.5}
    further = write(tmp_path / "further.toml", f'base = "{mine}"\n[machine.nic]\nrx_usecs_step = 4\n')
    assert load_profile(further).knobs()["nic.rx_usecs"] == (2, 1022, 4)


def test_a_file_may_be_the_machine(tmp_path: Path) -> None:
    text, _ = read_profile("linux-memcached")
    hardware = text[text.index("[machine]") : text.index("[os]")].replace("cores = 16", "cores = 8")
    machine = write(tmp_path / "small.toml", hardware)
    assert load_profile(f"linux-sphinx@{machine}").values()["machine.cores"] == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('base = "nobody"', "there is no profile 'nobody' .*mine.toml, line 1"),
        ("\nbase = 3", "cannot use 3: a profile must start from one other, by name .*mine.toml, line 2, key base"),
        ('\nbase = "nothing.toml"', "cannot read nothing.toml: no such file .*mine.toml, line 2"),
        ('base = "linux-memcached"\n[app]\nservice_sd = 1', "there is no key .*service_sd"),
        ('base = "linux-memcached"\n[app]\nservice_log_sd = -1', "service_log_sd"),
        ('base = "linux-memcached"\napp = 3', "cannot use '3': it must be a table .*mine.toml, line 2"),
        ('base = "linux', "is not valid TOML"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"(?s){message}"):
        load_profile(write(tmp_path / "mine.toml", text))


def test_errors_name_the_file_and_the_line_in_which_the_key_stands(tmp_path: Path) -> None:
    def place(name: str) -> str | None:
        with pytest.raises(InputError) as caught:
            load_profile(name)
        return caught.value.place

    low = write(tmp_path / "low.toml", 'base = "linux-memcached"\n\n[app]\nservice_log_sd = -1\nnetwork_us = 1\n')
    high = write(tmp_path / "high.toml", f'base = "{low}"\n[machine.nic]\nrx_usecs_step = 4\n')
    assert place(high) == f"{low}, line 4, key app.service_log_sd"
    high = write(tmp_path / "high.toml", f'base = "{low}"\n[app]\nservice_log_sd = 0.5\nnetwork_us = "1"\n')
    assert place(high) == f"{high}, line 4"
    text, _ = read_profile("linux-memcached")
    hardware = text[text.index("[machine]") : text.index("[os]")]
    machine = write(tmp_path / "m.toml", f"{hardware}[linux.os]\n\nsteer_us = -1\n")
    assert place(f"linux-memcached@{machine}") == f"{machine}, line {hardware.count(chr(10)) + 3}, key os.steer_us"


def test_files_that_start_from_each_other_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "loop.toml"
    with pytest.raises(InputError, match="complete one in the end"):
        load_profile(write(path, f'base = "{path}"'))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[os]\npoll_budget = 3", r"cannot use \'os\': a machine file must have \[machine\]"),
        ("[machine]\ncores = 4\n[app]\nspare_cores = 1", "a machine file must have"),
        ("[machine]\ncores = 4", "the key name is missing"),
        ("[machine", "the file is not TOML"),
    ],
)
def test_a_machine_that_does_not_fit_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"(?s){message}"):
        load_profile(f"linux-memcached@{write(tmp_path / 'machine.toml', text)}")


def test_unknown_machines_are_refused() -> None:
    with pytest.raises(InputError, match="there is no machine 'toaster'") as caught:
        load_profile("linux-memcached@toaster")
    assert caught.value.hint == f"built-in machines: {', '.join(MACHINES)}; a file's name ends in .toml"


words = st.text(st.characters(codec="utf-8"), max_size=8)
keys = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
plain = words | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
tables = st.recursive(
    st.dictionaries(keys, plain | st.lists(st.integers(0, 9), max_size=3), max_size=4),
    lambda inner: st.dictionaries(keys, plain | inner | st.lists(inner, min_size=1, max_size=3), max_size=3),
    max_leaves=8,
)


@given(tables)
def test_what_is_put_together_is_spelled_as_toml(table: dict[str, object]) -> None:
    assert tomllib.loads(profile_library._spelled(table)) == table


def test_what_never_ends_is_no_profile(tmp_path: Path) -> None:
    path = tmp_path / "zero.toml"
    path.symlink_to("/dev/zero")
    with pytest.raises(InputError, match=f"cannot read {path}: it is no regular file"):
        read_profile(str(path))
