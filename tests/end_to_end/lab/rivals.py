"""TuneD and irqbalance for the lab's machine, as Debian packs them. Neither finds systemd or D-Bus there."""

from __future__ import annotations

from copy import deepcopy

from tests.support.needs import require

from lab import Files, Machine
from lab.files import LIBRARY_FOLDER, libraries
from lab.packages import TREE, program

# TuneD is a Python program; what it imports, its profiles, and the typelibs that its main loop (GLib) looks for.
_TREES = (
    "usr/lib/python3",
    "usr/lib/python3.11",
    "usr/lib/x86_64-linux-gnu/girepository-1.0",
    "usr/lib/tuned",
    "etc/tuned",
)
_TUNED_LOG = "/run/tuned.log"


def with_rivals(files: Files) -> Files:
    """The same and both programs, of which the machine starts neither. Without their packages the test is skipped."""
    has_both = (TREE / "usr/sbin/tuned").is_file() and (TREE / "usr/sbin/irqbalance").is_file()
    require(has_both, "the lab's packages, of an older list, lack TuneD or irqbalance", "lab/install-packages")
    files = deepcopy(files)
    for tree in _TREES:
        for path in sorted(path for path in (TREE / tree).rglob("*") if path.is_file() and not path.is_symlink()):
            files.add(f"/{path.relative_to(TREE)}", path)
            if path.suffix == ".so":
                for name, library in libraries(path).items():
                    files.add(f"{LIBRARY_FOLDER}/{name}", library, mode=0o755)
    files.add_program("/usr/bin/python3", program("python3.11"))
    files.add("/usr/sbin/tuned", program("tuned"), mode=0o755)
    return files.add_program("/usr/sbin/irqbalance", program("irqbalance"))


def start_tuned(machine: Machine, profile: str) -> None:
    """Starts the daemon and returns once it has applied a profile. The first start also compiles its Python."""
    machine.run(
        f"rm -f {_TUNED_LOG}; tuned --no-dbus --no-socket --profile {profile} --log {_TUNED_LOG} >/dev/null 2>&1 &"
        f" until grep -q 'static tuning from profile .* applied' {_TUNED_LOG} 2>/dev/null; do sleep 0.2; done",
        timeout_s=100,
    )


def end(machine: Machine, name: str) -> None:
    """Ends a daemon in good order: TuneD puts back what it has found."""
    machine.run(f"killall {name}; while pidof {name} >/dev/null; do sleep 0.1; done")
