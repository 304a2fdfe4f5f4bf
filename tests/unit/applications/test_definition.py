"""Every definition that comes with BayOp, and what a wrong one is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bayop.applications.definition import READY_S, Live, application_names, find_application
from bayop.errors import InputError
from bayop.slo import Slo


@pytest.mark.parametrize("name", application_names())
def test_a_shipped_definition_is_filled_in(name: str) -> None:
    application = find_application(name)
    assert application.licence
    program, *arguments = application.start
    brought = [*application.package_names, application.build or ""]
    scripts = [["sh", f"{{folder}}/{name}"] for name in application.files]
    assert [program, *arguments] in scripts or any(Path(program).name in each for each in brought)
    words, place = [*application.start, *application.prepare, *application.ready], Path("/nowhere")
    filled = application.filled(words, address="127.0.0.1", folder=place, cache=place, packages=place)
    assert "{" not in " ".join(filled)


def test_a_folder_that_is_none_and_a_name_that_is_none_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        find_application("nginx", tmp_path / "nowhere")
    with pytest.raises(InputError, match="there is no application 'ngnix'") as caught:
        find_application("ngnix")
    assert caught.value.hint == "did you mean nginx?"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("packages", '["nginx"]', "packages must be a table"),
        ("packages", '{ apt = "nginx" }', "it must be a list of packages such as nginx"),
        ("packages", '{ apt = ["a;b"] }', "it must be a list of packages such as nginx"),
        ("packages", '{ pypi = ["six"] }', "it must be a list of packages such as pocketsphinx==5.1.1"),
        ("packages", '{ npm = ["fastify"] }', "it must be a list of packages such as fastify@4.28.1"),
        ("packages", '{ npm = ["fastify@latest"] }', "it must be a list of packages such as fastify@4.28.1"),
        ("packages", '{ cargo = ["x"] }', "there is no key 'cargo'"),
        ("ready", "[]", "it must be a list of texts"),
        ("ready", '["curl", "{prot}"]', "nothing is filled in for {prot}"),
        ("ready_within_s", "0", "it must be a number from 0.1 to 600"),
        ("knobs", '{ "nic.rx_usec" = "all" }', "nic.rx_usec"),
        ("knobs", '{ "nic.rx_usecs" = "0" }', "a range must be LOW:HIGH"),
        ("knobs", '{ nic = { rx_usecs = "all" } }', "a knob's id must be in quotes"),
        ("start", "[]", "it must be a list of texts"),
        ("start", '["nginx", "{prot}"]', "nothing is filled in for {prot}"),
        ("port", "0", "must be"),
        ("protocol", '"smtp"', "'smtp' is no protocol"),
        ("files", '{ "../passwd" = "x" }', "the name of a file must have no folder"),
        ("beside", '"common.py"', "it must be a list of files"),
        ("beside", '["../passwd"]', "the name of a file must have no folder"),
        ("beside", '["common.py"]', "common.py: no such file"),
    ],
)
def test_a_wrong_value_is_refused_with_its_line(key: str, value: str, said: str, tmp_path: Path) -> None:
    right = {"licence": '"MIT"', "start": '["x"]', "port": "80", "protocol": '"http"'}
    (tmp_path / "mine").mkdir()
    lines = "".join(f"{name} = {text}\n" for name, text in {**right, key: value}.items())
    (tmp_path / "mine" / "app.toml").write_text(lines, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        find_application("mine", tmp_path)
    assert "app.toml" in str(caught.value.place)


def test_packages_are_by_registry_and_knobs_as_a_live_file_has_them(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    packages = '[packages]\napt = ["nodejs=18.20.4+dfsg-1"]\npypi = ["six==1.16.0"]\nnpm = ["@fastify/cors@9.0.1"]\n'
    knobs = '[knobs]\n"cpu.freq_mhz" = "all"\n"nic.rx_usecs" = "0:0.4ms:10us"\n'
    right = 'licence = "MIT"\nstart = ["x"]\nport = 80\nprotocol = "http"\n'
    (tmp_path / "mine" / "app.toml").write_text(right + packages + knobs, encoding="utf-8")
    application = find_application("mine", tmp_path)
    assert application.package_names == ("nodejs=18.20.4+dfsg-1", "pypi:six==1.16.0", "npm:@fastify/cors@9.0.1")
    assert application.knobs == {"cpu.freq_mhz": "all", "nic.rx_usecs": "0:0.4ms:10us"}
    assert application.ready_within_s == READY_S


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "app.toml").write_text('licence = "MIT"\n', encoding="utf-8")
    with pytest.raises(InputError, match="start, port, protocol is missing"):
        find_application("mine", tmp_path)


def test_what_several_share_is_a_file_of_each(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "common.py").write_text("x = 1\n", encoding="utf-8")
    lines = 'licence = "MIT"\nstart = ["x"]\nport = 80\nprotocol = "http"\nbeside = ["common.py"]\n'
    (tmp_path / "mine" / "app.toml").write_text(f'{lines}[files]\n"own.py" = "y"\n', encoding="utf-8")
    assert find_application("mine", tmp_path).files == {"own.py": "y", "common.py": "x = 1\n"}


def test_an_unknown_key_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "app.toml").write_text('licence = "MIT"\npakages = []\n', encoding="utf-8")
    with pytest.raises(InputError, match="there is no key 'pakages'") as caught:
        find_application("mine", tmp_path)
    assert str(caught.value.place).endswith("app.toml:2")


def test_how_it_is_searched(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "app.toml"
    right = 'licence = "MIT"\nstart = ["x"]\nport = 80\nprotocol = "http"\n'
    file.write_text(right, encoding="utf-8")
    assert find_application("mine", tmp_path).live is None
    whole = right + '[live]\nshare = 0.3\nwindow_requests = 500\nslo = "p90<1ms"\n'
    file.write_text(whole, encoding="utf-8")
    assert find_application("mine", tmp_path).live == Live(0.3, 500, Slo.parse("p90<1ms"))
    for old, new, said in (
        ("share = 0.3\n", "", "share is missing; a search must have share, window_requests, slo"),
        ("0.3", "30", "a number from 0.01 to 0.9"),
        ("p90<1ms", "1ms", "hint: write a quantile"),
    ):
        file.write_text(whole.replace(old, new), encoding="utf-8")
        with pytest.raises(InputError) as caught:
            find_application("mine", tmp_path)
        assert said in f"{caught.value} hint: {caught.value.hint}"


def test_what_a_load_is_told_of_it(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "app.toml"
    right = 'licence = "MIT"\nstart = ["x"]\nport = 80\nprotocol = "http"\n[load]\n'
    file.write_text(right + 'path = "/item/{n}"\nstore = false\ntimeout_s = 3\n', encoding="utf-8")
    application = find_application("mine", tmp_path)
    assert application.load == {"path": "/item/{n}", "store": False, "timeout_s": 3}
    assert application.load_flags == ["--protocol", "http", "--path", "/item/{n}", "--timeout", "3s", "--noload"]
    file.write_text(right + 'query = "SELECT {n}"\nuser = "ann"\n', encoding="utf-8")
    assert find_application("mine", tmp_path).load_flags[2:] == ["--query", "SELECT {n}", "--user", "ann"]
    for line, said in (('pth = "/"', "there is no key 'pth'"), ("store = 1", "must be true or false")):
        file.write_text(f"{right}{line}\n", encoding="utf-8")
        with pytest.raises(InputError, match=said):
            find_application("mine", tmp_path)
