"""`bayop load --protocol postgresql` against a real PostgreSQL: its queries, its ways to log in, and its refusals."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.support.needs import need, require
from tests.support.servers import free_port, load, result_of, serving

from lab.certificates import Authority, Identity

pytestmark = pytest.mark.slow

BRIEF = ["-q", "1kqps", "-t", "0.3s", "-w", "0.1s", "-c", "4", "-r", "100", "--json"]
WAYS = {
    "ann": "trust", "plain": "password", "hash": "md5", "scram": "scram-sha-256", "cert": "ident",
    "sealed": "scram-sha-256",
}  # fmt: skip
"""Users, and how the server wants to know that it is they; it speaks to the last in TLS only."""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    need("openssl")
    return Authority(tmp_path_factory.mktemp("tls") / "authority")


@pytest.fixture(scope="module")
def server(authority: Authority) -> Iterator[str]:
    """A cluster whose user ann has a table `item` with rows 0 to 49; all others have the password `it's me`."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    require(bool(programs), "postgresql is not installed", "sudo make test")
    with TemporaryDirectory() as folder:
        yield from serve(Path(folder), programs[-1], free_port(), authority.server())


def serve(folder: Path, programs: Path, port: int, identity: Identity) -> Iterator[str]:
    data, words = folder / "data", list[str]()
    if os.geteuid() == 0:  # PostgreSQL does not run as root
        words = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        shutil.chown(folder, "nobody", "nogroup")
    initdb = [str(programs / "initdb"), "--username=postgres", "--no-locale", "--encoding=UTF8", "--no-sync"]
    subprocess.run([*words, *initdb, "--pgdata", str(data)], check=True, capture_output=True)
    commands = ["CREATE TABLE item (id integer PRIMARY KEY)", "INSERT INTO item SELECT generate_series(0, 49)"]
    for user, way in WAYS.items():
        kind = "md5" if way == "md5" else "scram-sha-256"
        commands += [f"SET password_encryption = '{kind}'", f"CREATE ROLE {user} LOGIN PASSWORD 'it''s me'"]
    commands += ["GRANT ALL ON item TO PUBLIC"]
    single = [*words, str(programs / "postgres"), "--single", "-F", "-D", str(data), "postgres"]
    subprocess.run(single, input="\n".join(commands) + "\n", text=True, check=True, capture_output=True)
    rules = "".join(f"host{'ssl' * (user == 'sealed')} all {user} all {way}\n" for user, way in WAYS.items())
    (data / "pg_hba.conf").write_text(rules, encoding="utf-8")
    postgres = [str(programs / "postgres"), "-F", "-D", str(data), "-h", "127.0.0.1", "-p", str(port), "-k", ""]
    for name, path in (("server.crt", identity.certificate), ("server.key", identity.key)):
        shutil.copy(path, data / name)
        (data / name).chmod(0o600)
        if os.geteuid() == 0:
            shutil.chown(data / name, "nobody", "nogroup")
    with serving([*words, *postgres, "-c", "ssl=on"], port) as process:
        yield f"127.0.0.1:{port}"
        process.terminate()
        process.wait(10)


def ask(server: str, query: str, *more: str, user: str = "ann") -> list[str]:
    return ["-s", server, "--protocol", "postgresql", "--user", user, "--database", "postgres", "--query", query, *more]


def test_queries_of_a_mix_are_asked_by_their_weights(server: str, tmp_path: Path) -> None:
    mix = tmp_path / "mix.toml"
    mix.write_text(
        '[there]\nweight = 4\nquery = "SELECT 1"\n[absent]\nquery = "SELECT id FROM item WHERE id = -1 - {n}"\n',
        encoding="utf-8",
    )
    words = ["-s", server, "--protocol", "postgresql", "--user", "ann", "--database", "postgres", "--mix", str(mix)]
    result = result_of(load(*words, *BRIEF, "-t", "1s"))
    assert result["counts"]["answered"] == result["counts"]["intended"] > 700
    assert result["miss_ratio"] == pytest.approx(0.2, abs=0.06)


def test_a_query_has_the_number_of_a_record(server: str) -> None:
    """Of the records 0 to 99 the first fifty are there."""
    result = result_of(load(*ask(server, "SELECT id FROM item WHERE id = {n}", *BRIEF)))
    counts = result["counts"]
    assert counts["answered"] == counts["intended"] > 200
    assert result["miss_ratio"] == pytest.approx(0.5, abs=0.15)
    assert counts["reconnects"] == 0


def test_requests_are_answered_in_a_closed_loop_too(server: str) -> None:
    flags = ["--closed-loop", "-d", "4", "-c", "2", "-t", "0.3s", "-w", "0s", "--json"]
    counts = result_of(load(*ask(server, "UPDATE item SET id = id WHERE id = {n} % 50", *flags)))["counts"]
    assert counts["answered"] == counts["intended"] > 200
    assert counts["refused"] == counts["misses"] == 0


def test_answers_of_many_rows_come_whole(server: str) -> None:
    query = "SELECT repeat('x', 1000) FROM item"
    counts = result_of(load(*ask(server, query, *BRIEF, "-q", "200")))["counts"]
    assert counts["answered"] == counts["intended"]
    assert counts["bytes_received"] > 50_000 * counts["answered"] * 0.9


@pytest.mark.parametrize("user", ["plain", "hash", "scram"])
def test_a_password_is_told_as_the_server_wants_it(server: str, user: str, tmp_path: Path) -> None:
    (tmp_path / "right").write_text("it's me\n", encoding="utf-8")
    (tmp_path / "wrong").write_text("it is not\n", encoding="utf-8")
    query = ask(server, "SELECT 1", *BRIEF, user=user)
    counts = result_of(load(*query, "--password-file", str(tmp_path / "right")))["counts"]
    assert counts["answered"] == counts["intended"] > 200
    wrong = result_of(load(*query, "--password-file", str(tmp_path / "wrong")))
    assert wrong["message"] == f'cannot connect to {server}: password authentication failed for user "{user}"'
    missing = load(*query)
    assert missing.returncode == 1
    assert result_of(missing)["message"] == f"cannot connect to {server}: it asks for a password, and none is given"
    assert result_of(missing)["hint"] == "--password-file FILE has it"


def test_in_tls_the_server_is_the_one_that_was_meant(server: str, authority: Authority, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("it's me\n", encoding="utf-8")
    query = ask(server, "SELECT 1", *BRIEF, "--password-file", str(tmp_path / "password"), user="sealed")
    counts = result_of(load(*query, "--tls", "--cacert", str(authority.certificate)))["counts"]
    assert counts["answered"] == counts["intended"] > 200
    assert counts["reconnects"] == 0
    stranger = Authority(tmp_path / "stranger", name="stranger").certificate
    refused = result_of(load(*query, "--tls", "--cacert", str(stranger)))
    assert refused["message"] == f"cannot connect to {server}: invalid peer certificate: UnknownIssuer"
    assert "no pg_hba.conf entry" in result_of(load(*query))["message"]


def test_who_may_not_enter_is_told_why(server: str) -> None:
    unknown = ["-s", server, "--protocol", "postgresql", "--user", "ann", *BRIEF]
    assert result_of(load(*unknown))["message"].endswith('database "ann" does not exist')
    other = result_of(load(*ask(server, "SELECT 1", *BRIEF, user="cert")))
    assert other["message"].startswith(f"cannot connect to {server}: ")


def test_a_query_that_is_refused_is_an_error(server: str) -> None:
    run = load(*ask(server, "SELECT * FROM nothing", *BRIEF))
    result = result_of(run)
    assert run.returncode == 1
    assert result["counts"]["refused"] == result["counts"]["intended"] > 200
    assert list(result["troubles"]) == ['relation "nothing" does not exist']


def test_a_connection_that_the_server_ends_is_opened_again(server: str) -> None:
    run = load(*ask(server, "SELECT pg_terminate_backend(pg_backend_pid())", *BRIEF, "-q", "100"))
    counts = result_of(run)["counts"]
    assert counts["refused"] == counts["intended"] > 20
    assert counts["reconnects"] > 20


def test_a_query_that_waits_for_data_is_no_query_to_load_with(server: str) -> None:
    result = result_of(load(*ask(server, "COPY item FROM STDIN", *BRIEF, "-q", "50")))
    assert result["counts"]["lost_garbage"] > 0
    assert any("PostgreSQL's answer to a query was expected" in trouble for trouble in result["troubles"])


def test_another_server_does_not_speak_it(redis: str) -> None:
    run = load("-s", redis, "--protocol", "postgresql", *BRIEF)
    assert run.returncode == 1
    assert result_of(run)["message"].startswith(f"cannot connect to {redis}: ")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--query", "SELECT 1"],
            "--query was given with --protocol memcached; queries and who asks them must be PostgreSQL's",
        ),
        (
            ["--password-file", "x"],
            "--password-file was given with --protocol memcached; queries and who asks them must be PostgreSQL's",
        ),
        (
            ["--protocol", "postgresql", "--query", " "],
            "cannot use ' ': a query must have characters, and no zero byte (--query)",
        ),
        (
            ["--protocol", "postgresql", "--user", ""],
            "cannot use '': a user must have characters, and no zero byte (--user)",
        ),
        (["--protocol", "postgresql", "--password-file", "nope"], "cannot read nope: no such file"),
    ],
)
def test_flags_that_make_no_sense_are_bad_usage(flags: list[str], message: str) -> None:
    run = load("-s", "127.0.0.1:1", *BRIEF, *flags)
    assert (run.returncode, result_of(run)["message"]) == (2, message)
