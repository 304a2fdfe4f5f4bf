from __future__ import annotations

import ctypes
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.state.test_store import CAPS, SEARCH, SWITCHED_BACK, WINDOW, observation

from bayop.errors import InputError
from bayop.state.records import check_state, read
from bayop.state.store import StateError, Store


def test_one_process_writes(path: Path) -> None:
    with Store(path), pytest.raises(InputError, match="one bayop run at a time must have the state"):
        Store(path)
    with Store(path):
        pass


def test_one_process_writes_also_after_somebody_has_removed_the_lock(path: Path) -> None:
    lock = path.with_name("state.db.lock")
    with Store(path) as store:
        lock.unlink()
        store.add_window("web", WINDOW)
        with pytest.raises(InputError, match="another process writes"):
            Store(path)
        lock.unlink()
        with Store(path) as successor:
            with pytest.raises(StateError, match="another process writes"):
                store.add_window("web", WINDOW)
            successor.add_window("web", WINDOW)
        store.add_window("web", WINDOW)
    assert len(read(path, "window")) == 3


def test_a_state_has_one_name(path: Path) -> None:
    with Store(path):
        pass
    path.with_name("other.db").hardlink_to(path)
    with pytest.raises(InputError, match=r"state\.db has 2 \(hard links\); a state must have one name"):
        Store(path)
    with pytest.raises(InputError, match="a state must have one name"):
        check_state(path)


def test_only_our_own_files_are_written(path: Path) -> None:
    path.write_text("a diary, and no state", encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot open .*state\.db"):
        Store(path)
    assert path.read_text(encoding="utf-8").startswith("a diary")
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE diary (day TEXT)")
    other.close()
    with pytest.raises(InputError, match="a state must have the tables of version 2"):
        Store(path)
    with pytest.raises(InputError, match="cannot write"):
        Store(path.parent / "nowhere" / "state.db")


@contextmanager
def as_somebody_else() -> Iterator[Path]:
    """What only root can be, with a folder of theirs.

    To files alone and in this thread alone (setfsuid(2)): others go on with what they do as root.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 65534, 65534)
        libc = ctypes.CDLL(None)
        libc.setfsuid(65534)
        try:
            yield Path(folder)
        finally:
            libc.setfsuid(0)


def test_a_state_that_can_only_be_read_is_refused_at_once() -> None:
    with as_somebody_else() as folder:
        with Store(folder / "state.db"):
            pass
        (folder / "state.db").chmod(0o444)
        with pytest.raises(InputError, match=r"cannot open .*state\.db: attempt to write a readonly database"):
            Store(folder / "state.db")


def test_a_lock_of_somebody_else_is_said_to_be_that() -> None:
    with as_somebody_else() as folder:
        with Store(folder / "state.db"):
            pass
        (folder / "state.db.lock").chmod(0o444)
        with pytest.raises(InputError, match=r"cannot write .*state\.db\.lock: permission denied") as caught:
            Store(folder / "state.db")
        assert caught.value.hint == "it belongs to uid 65534: a bayop run of another user has made it"


def test_a_newer_state_is_left_alone(path: Path) -> None:
    with Store(path):
        pass
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA user_version = 3")
    newer.close()
    with pytest.raises(InputError, match="a state must have the tables of version 2") as caught:
        Store(path)
    assert "version 3" in (caught.value.hint or "")


def test_an_older_state_is_brought_up_to_date_by_who_writes_it(path: Path) -> None:
    with Store(path) as store:
        store.history("web", **CAPS).add(observation(90))
    with sqlite3.connect(path) as older:
        older.executescript("DROP TABLE switchback; ALTER TABLE window DROP COLUMN grain_s; PRAGMA user_version = 1;")
    older.close()
    with pytest.raises(InputError, match="version 2") as caught:
        read(path, "window")
    assert "brings it up to date" in (caught.value.hint or "")
    with Store(path) as store:
        store.add_switchback("web", SWITCHED_BACK)
        assert store.history("web", **CAPS).near(5000.0) == (observation(90),)
    assert read(path, "window") == []


@pytest.mark.parametrize("changed", ["DROP TABLE event", "ALTER TABLE window DROP COLUMN cut_short"])
def test_a_state_without_a_part_of_its_tables_is_none(path: Path, changed: str) -> None:
    with Store(path):
        pass
    with sqlite3.connect(path) as other:
        other.execute(changed)
    other.close()
    with pytest.raises(InputError, match="a state must have the tables of version 2"):
        Store(path)


@pytest.mark.parametrize("replaced", [False, True])
def test_a_state_that_is_gone_is_noticed(path: Path, *, replaced: bool) -> None:
    with Store(path) as store:
        path.unlink()
        if replaced:
            path.touch()
        with pytest.raises(StateError, match="another file took the place" if replaced else "no such file"):
            store.add_window("web", WINDOW)


def test_another_name_of_a_state_is_the_same_state(path: Path) -> None:
    path.with_name("other.db").symlink_to(path)
    with Store(path), pytest.raises(InputError, match="another process writes"):
        Store(path.with_name("other.db"))


@pytest.mark.parametrize("name", ["/", "\0"])
def test_what_names_no_file_is_no_state(name: str) -> None:
    with pytest.raises(InputError, match="cannot write"):
        Store(Path(name))


def _gone(log: Path) -> None:
    log.unlink()


def _replaced(log: Path) -> None:
    log.unlink()
    log.touch()


def _cut(log: Path) -> None:
    os.truncate(log, log.stat().st_size // 2)


@pytest.mark.parametrize("touched", [_gone, _replaced, _cut])
def test_a_log_that_somebody_touches_is_noticed_and_what_follows_is_on_disk(
    path: Path, touched: Callable[[Path], None]
) -> None:
    with Store(path) as store:
        store.add_event(1.0, "web", "paused", {"by": "root"})
        for start_s in range(9):
            store.add_window("web", replace(WINDOW, start_s=float(start_s)))
        touched(path.with_name("state.db-wal"))
        with pytest.raises(StateError, match=r"the -wal of .*state\.db is gone, or was replaced or cut"):
            store.add_window("web", WINDOW)
        store.add_window("web", replace(WINDOW, start_s=10.0))
        assert store.is_paused("web")
        copy = path.with_name("copy.db")
        for name in ("", "-wal"):
            shutil.copy(f"{path}{name}", f"{copy}{name}")
    with Store(copy) as store:
        assert store.is_paused("web")
        starts_s = [row["start_s"] for row in read(copy, "window")]
        assert starts_s == ([10.0] if touched is _cut else [*map(float, range(9)), 10.0])
        assert store._query("PRAGMA integrity_check") == [("ok",)]


def test_a_log_that_is_gone_while_somebody_reads_loses_nothing(path: Path) -> None:
    with Store(path) as store:
        for start_s in range(9):
            store.add_window("web", replace(WINDOW, start_s=float(start_s)))
        with (
            closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as reader,
            closing(reader.execute("SELECT id FROM window")) as rows,
        ):
            assert rows.fetchone() is not None
            path.with_name("state.db-wal").unlink()
            with pytest.raises(StateError, match="its -wal was removed while somebody reads it"):
                store.add_window("web", WINDOW)
        with pytest.raises(StateError, match="is gone, or was replaced or cut"):
            store.add_window("web", WINDOW)
        store.add_window("web", replace(WINDOW, start_s=10.0))
    assert [row["start_s"] for row in read(path, "window")] == [*map(float, range(9)), 10.0]


def test_what_is_on_disk_is_remembered_though_it_can_not_be_moved_to_the_main_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with Store(path) as store:
        monkeypatch.setattr("bayop.state.database._checkpoint", fail)
        store.add_event(1.0, "web", "paused", {"by": "root"})
        store.add_search("web", SEARCH)
        assert (store.is_paused("web"), store.last_search("web")) == (True, SEARCH.number)


def test_where_somebody_listens_a_log_that_is_gone_keeps_nothing_from_being_written(path: Path) -> None:
    with Store(path) as store:
        said: list[StateError] = []

        def say(error: StateError) -> None:
            said.append(error)
            store.add_event(2.0, None, "damaged", {})

        store.on_damage = say
        store.add_window("web", WINDOW)
        path.with_name("state.db-wal").unlink()
        store.add_window("web", WINDOW)
        assert len(said) == 1
    assert len(read(path, "window")) == 2
    assert len(read(path, "event")) == 1
