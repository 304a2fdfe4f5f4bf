from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.unit.state.test_database import as_somebody_else
from tests.unit.state.test_store import WINDOW

from bayop.errors import InputError
from bayop.state.records import Table, read
from bayop.state.store import Store


def test_the_last_rows_come_oldest_first_and_of_one_service(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with Store(path) as store:
        for number in range(5):
            store.add_event(float(number), "web" if number % 2 else "db", "watching", {"number": number})
        store.add_window("web", WINDOW)
    assert [row["time_s"] for row in read(path, "event", last=2)] == [3, 4]
    assert [row["fields"] for row in read(path, "event", service="web")] == [{"number": 1}, {"number": 3}]
    assert read(path, "search") == []


def test_it_is_read_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with Store(path) as store:
        store.add_window("web", WINDOW)
        assert len(read(path, "window")) == 1
        store.add_window("web", WINDOW)
        assert len(read(path, "window")) == 2


def test_what_is_no_state_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"bayop run has remembered nothing yet: there is no .*state\.db"):
        read(tmp_path / "state.db", "window")
    (tmp_path / "notes").write_text("no state, but long enough to be taken for something" * 9, encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot read .*notes: file is not a database"):
        read(tmp_path / "notes", "window")
    with pytest.raises(InputError, match="file name too long"):
        read(tmp_path / ("n" * 300), "window")


@pytest.mark.parametrize(
    ("table", "changed"),
    [
        ("window", "power_w = 9e999"),
        ("window", "start_s = 1e300"),
        ("window", "service = NULL"),
        ("window", "setting = '[1]'"),
        ("window", "setting = '{\"cpu.freq_mhz\": null}'"),
        ("window", "setting = 'no JSON'"),
        ("window", "meets_slo = 7"),
        ("event", "time_s = NULL"),
        ("event", "fields = '[]'"),
        ("event", f"fields = '{'[' * 100_000}'"),
    ],
)
def test_a_damaged_row_is_said_to_be_one(tmp_path: Path, table: Table, changed: str) -> None:
    path = tmp_path / "state.db"
    with Store(path) as store:
        store.add_window("web", WINDOW)
        store.add_event(1.0, None, "start", {})
    with sqlite3.connect(path) as database:
        database.execute(f"UPDATE {table} SET {changed}")  # noqa: S608 -- our own words
    database.close()
    with pytest.raises(InputError, match=rf"cannot read .*state\.db: the {table} with id 1 is damaged: "):
        read(path, table)


def test_what_was_closed_is_read_where_nothing_may_be_written() -> None:
    with as_somebody_else() as folder:
        path, elsewhere = folder / "state.db", folder / "elsewhere"
        elsewhere.mkdir()
        with Store(path) as store:
            store.add_window("web", WINDOW)
            for name in ("state.db", "state.db-wal"):
                shutil.copy(folder / name, elsewhere)
        for each in (folder, elsewhere):
            each.chmod(0o555)
        try:
            assert len(read(path, "window")) == 1
            with pytest.raises(InputError, match=r"its newest rows are in state\.db-wal") as caught:
                read(elsewhere / path.name, "window")
            assert caught.value.hint == "copy both to a folder that you may write"
        finally:
            for each in (folder, elsewhere):
                each.chmod(0o755)
