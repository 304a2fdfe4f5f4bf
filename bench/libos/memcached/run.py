"""memcached's own tests against the library OS: which of them pass as they do with Debian's memcached?

    make libos
    python -m bench.libos.memcached.run
    python -m bench.libos.memcached.run --tests cas incrdecr --out build/libos-memcached

apt brings the tests (`t/*.t`) from Debian's source package of the memcached that is installed. Where one starts a
memcached, `bench.libos.memcached.server` boots the library OS as its options say, and the test asks it through QEMU's
network; then Debian's memcached serves the same test. A check that the library OS fails, or does not come to, is missed
unless Debian's fails it too.

`KNOWN` says what is missed and why. A test that misses more than that, or less, ends the run with exit code 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.command import collect, flags_of
from bench.libos.memcached.server import REFUSED
from bench.libos.memcached.source import source

from bayop.errors import InputError
from lab.libos import image
from lab.packages import tool

_MODULE: Final = "bench.libos.memcached.run"
_ROOT: Final = Path(__file__).resolve().parents[3]
_LIMIT_S: Final = 600.0
_FOREIGN_LIMIT_S: Final = 15.0
"""A test waits for ever for the end of statistics that are refused."""

PASSES: Final = "passes"
DIFFERS: Final = "differs"
FOREIGN: Final = "can't apply"
UNKNOWN: Final = "not known"

CHANGED: Final[Mapping[str, tuple[str, Sequence[tuple[str, str]]]]] = {
    "binary": (
        "without `stats detail`",
        [(r"\$mc->stats\('detail on'\);", ""), (r"my %stats = .*'detail dump'\);", "")],
    ),
    "flush-all": (
        "without options `-F` and `-C`",
        [(r"tests => 27", "tests => 22"), (r"(?s)\$server = new_memcached\('-F'\).*", "")],
    ),
    "stats": (
        "without option `-I` and `stats cachedump`",
        [
            (r"tests => 113", "tests => 112"),
            (r"-I 1024 ", ""),
            (r'"B" x 2048', '"B" x 2097152'),
            (r"(?m)^.*cache_?dump.*$", ""),
        ],
    ),
    "udp": ("requests of 1,200 bytes in place of 4,096, which come in fragments", [(r'"abcd" x 1024', '"abcd" x 300')]),
}
"""What is left out or replaced of a test, for both servers, so that the rest of it runs: in words, and as patterns."""

KNOWN: Final[Mapping[str, tuple[str, int | None, str]]] = {
    "issue_22": (DIFFERS, 2, "`stats items` is empty: there are no slab classes"),
    "issue_42": (DIFFERS, 1, "`stats items` is empty: there are no slab classes"),
    "issue_163": (DIFFERS, 1, "`stats items` is empty: there are no slab classes"),
    "issue_29": (DIFFERS, 2, "`stats slabs` is empty: there are no slab classes"),
    "issue_61": (DIFFERS, 1, "`stats` has no `conn_yields`: the option `-R` says nothing here"),
    "issue_183": (DIFFERS, 2, "`stats` has no `reclaimed`, which counts slabs' memory"),
    "lru": (DIFFERS, 1, "how many items go depends on slab sizes; those that have to are gone, and the others there"),
    "stats": (DIFFERS, 6, "`stats` has 38 of 83 values"),
    "strtol-testing": (DIFFERS, 1, "`slabs` is no command"),
    "issue_67": (FOREIGN, None, "a file of the ports"),
    "lru-crawler": (FOREIGN, None, "`lru_crawler`"),
    "metaget": (FOREIGN, None, "meta commands"),
    "stats-conns": (FOREIGN, None, "`stats conns`"),
    "stats-detail": (FOREIGN, None, "`stats detail`"),
}
"""What is known: the result, how many checks are missed (None: at least one, not always as many), and why."""

_TAP: Final = re.compile(r"^(?P<bad>not )?ok (?P<number>\d+)", re.MULTILINE)
_PLANNED: Final = re.compile(r"^1\.\.(?P<last>\d+)", re.MULTILINE)
_SKIPPED: Final = re.compile(r"^1\.\.0 # SKIP (?P<why>.*)", re.MULTILINE)

_LIBRARY_OS: Final = f"""\
#!/bin/sh
cd {shlex.quote(str(_ROOT))}
exec {shlex.quote(sys.executable)} -m bench.libos.memcached.server "$@"
"""
_DEBIANS: Final = """\
#!/bin/sh
# Through the network as well, and without an option that Debian's is built without.
[ "$1" != -h ] || { memcached -h | sed /unix-socket/d; exit; }
for word; do
    shift
    [ "$word" != relaxed_privileges ] || word=modern
    set -- "$@" "$word"
done
exec memcached "$@"
"""
_WITHOUT_TIMER: Final = '#!/bin/sh\nshift\nexec "$@"\n'


@dataclass(frozen=True, slots=True)
class Tap:
    """What a test printed.

    Attributes:
        passed: The numbers of the checks that passed.
        failed: Those of the others that ran.
        planned: How many were to run; None where it has not said so, as it ended early.
        skipped: Why it did not run, by its own words; nothing: it did.
        refused: The options for which no server was started, if any.
    """

    passed: frozenset[int]
    failed: frozenset[int]
    planned: int | None
    skipped: str
    refused: str


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a test.

    Attributes:
        test: Its name, without `.t`.
        checks: How many it has; None where that is not known. One that looks at each statistic has as many more.
        missed: How many of them the library OS does not pass, but Debian's memcached does.
        fails_both: How many neither passes.
        result: One of the four.
        why: What keeps it from passing, or what of the test was changed.
    """

    test: str
    checks: int | None
    missed: int
    fails_both: int
    result: str
    why: str


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tests and writes the results."""
    flags = flags_of(_MODULE, __doc__)
    flags.add_argument("--tests", nargs="+", metavar="NAME", help="these alone, without .t (default: all)")
    unknown: list[str] = []

    def measured(args: argparse.Namespace) -> Iterator[Row]:
        for row in measure(args.tests):
            unknown.extend([row.test] if row.result == UNKNOWN else [])
            yield row

    return collect(_MODULE, flags, argv, measured, say=said, table=table) or int(bool(unknown))


def said(row: Row) -> str:
    """A row for people."""
    number = "" if row.checks is None else f", {row.missed:,} of {row.checks:,} checks missed"
    return f"{row.test}: {row.result}{number}" + (f" ({row.why})" if row.why else "")


def measure(names: Sequence[str] | None = None) -> Iterator[Row]:
    """Each test, or these: with the library OS, and then with Debian's memcached.

    Raises:
        InputError: There is no such test.
        UnsupportedError: This machine can't do it, or the image is not built.
    """
    image()
    for program in ("perl", "memcached", "qemu-system-x86_64"):
        tool(program)
    unpacked = source()
    all_names = sorted(path.stem for path in (unpacked / "t").glob("*.t") if ".changed" not in path.name)
    for name in names or all_names:
        if name not in all_names:
            raise InputError("it must be one of memcached's tests", value=name)
        is_foreign = name in KNOWN and KNOWN[name][0] == FOREIGN
        ours = run(unpacked, name, _LIBRARY_OS, limit_s=_FOREIGN_LIMIT_S if is_foreign else _LIMIT_S)
        if why := ours.skipped or ours.refused:
            yield Row(name, None, 0, 0, FOREIGN, why)
        else:
            yield judged(name, ours, run(unpacked, name, _DEBIANS))


def judged(name: str, ours: Tap, theirs: Tap) -> Row:
    """What came of a test that ran with both."""
    planned = ours.planned or theirs.planned or 0
    to_come = max(0, planned - len(ours.passed | ours.failed))
    missed = len(ours.failed - theirs.failed) + to_come
    result, known, why = KNOWN.get(name, (PASSES, 0, ""))
    if missed == 0 if known is None else missed != known:
        result = UNKNOWN
    changed = CHANGED[name][0] if name in CHANGED else ""
    return Row(name, planned, missed, len(ours.failed & theirs.failed), result, "; ".join(filter(None, (changed, why))))


def run(unpacked: Path, name: str, server: str, *, limit_s: float = _LIMIT_S) -> Tap:
    """Runs a test whose servers are a program of this text."""
    test = unpacked / "t" / f"{name}.t"
    if name in CHANGED:
        text = test.read_text(encoding="utf-8")
        for pattern, other in CHANGED[name][1]:
            text = re.sub(pattern, other, text)
        test = test.with_suffix(".changed.t")
        test.write_text(text, encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="bayop-memcached-", ignore_cleanup_errors=True) as folder:
        here = Path(folder)
        (here / "t").symlink_to(unpacked / "t")
        for program, text in (("memcached-debug", server), ("timedrun", _WITHOUT_TIMER)):
            (here / program).write_text(text, encoding="utf-8")
            (here / program).chmod(0o755)
        environment = os.environ | {REFUSED: str(here / "refused"), "TMPDIR": folder}
        environment["PATH"] = f"{environment.get('PATH', os.defpath)}:/usr/sbin"
        with (
            (here / "said").open("wb") as said_here,
            subprocess.Popen(
                ["perl", str(test)],
                cwd=here,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said_here,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            ) as perl,
        ):
            try:
                with suppress(subprocess.TimeoutExpired):  # the checks that it has not come to are not passed
                    perl.wait(limit_s)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(perl.pid, signal.SIGKILL)
        refused = here / "refused"
        options = refused.read_text(encoding="utf-8").split("\n") if refused.exists() else []
        return tap((here / "said").read_text(encoding="utf-8", errors="replace"), options)


def tap(text: str, refused: Sequence[str] = ()) -> Tap:
    """What a test has printed, by the Test Anything Protocol, while options were refused."""
    checks = {int(found["number"]): found["bad"] is None for found in _TAP.finditer(text)}
    skipped, planned = _SKIPPED.search(text), _PLANNED.search(text)
    options = dict.fromkeys(filter(None, refused))
    return Tap(
        frozenset(number for number, is_good in checks.items() if is_good),
        frozenset(number for number, is_good in checks.items() if not is_good),
        int(planned["last"]) if planned else None,
        skipped["why"].strip() if skipped else "",
        f"option {', '.join(f'`{option}`' for option in options)}" if options else "",
    )


def table(rows: Sequence[Row]) -> str:
    """The results in Markdown: tests of one result and one reason are one row."""
    lines = ["| result | tests | checks | missed | fail with both | why |", "|---|---|---:|---:|---:|---|"]
    for result in (UNKNOWN, PASSES, DIFFERS, FOREIGN):
        some = [row for row in rows if row.result == result]
        for why in sorted({row.why for row in some}):
            alike = [row for row in some if row.why == why]
            each = ((row.checks or 0, row.missed, row.fails_both) for row in alike)
            numbers = [f"{sum(some_of):,}" if result != FOREIGN else "" for some_of in zip(*each, strict=True)]
            lines.append(f"| {' | '.join((result, ' '.join(row.test for row in alike), *numbers, why))} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
