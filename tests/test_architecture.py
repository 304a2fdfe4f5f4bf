"""Arrows between the parts point one way, the start is light, and Python stays out of the Rust core."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import permutations
from pathlib import Path

import grimp
import pytest

from bayop.cli.parser import VERBS

ROOT = Path(__file__).resolve().parent.parent


def test_imports_follow_the_layers() -> None:
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


PARTS = {p.stem for p in (ROOT / "python/bayop").iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
PARTS -= {"__init__", "__main__"}


def test_every_package_is_in_a_layer() -> None:
    contracts = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    layered = contracts.split("layers = [")[1].split("]")[0]
    shipped = contracts.split("contract suites are for tests only")[1].split("source_modules = [")[1].split("]")[0]
    for part in PARTS - {"testing"}:
        assert re.search(rf"\bbayop\.{part}\b", layered), part
        assert f'"bayop.{part}"' in shipped, part


def test_every_package_stands_in_the_map_below_what_it_imports() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    entries = re.search(r"^python/bayop/.*\n((?: .*\n)+)", page, re.MULTILINE)
    assert entries
    row = {
        name.rstrip("/").removesuffix(".py"): number
        for number, entry in enumerate(entries[1].splitlines())
        if (names := re.match(r"  ((?:\w+(?:\.py|/) ?)+) ", entry))
        for name in names[1].split()
    }
    assert row.keys() == PARTS
    graph = grimp.build_graph("bayop", cache_dir=None)
    imports = partial(graph.direct_import_exists, as_packages=True)
    later = [pair for pair in permutations(row, 2) if row[pair[0]] < row[pair[1]]]
    assert [(x, y) for x, y in later if imports(importer=f"bayop.{x}", imported=f"bayop.{y}")] == []


def test_no_crate_needs_a_newer_rust_than_ours() -> None:
    """As far as the crates say; tests/bare-machine builds them with Debian's own cargo."""
    platform = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    host = re.findall(r"^host: (.*)$", platform, re.MULTILINE)[0]
    words = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host]
    run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    oldest = {p["name"]: version_of(p["rust_version"]) for p in json.loads(run.stdout)["packages"] if p["rust_version"]}
    ours = oldest["bayop-agent"]
    assert len(oldest) > 50
    assert {name: version for name, version in oldest.items() if version > ours} == {}
    minor = re.findall(
        r"^min_cargo=(\d+)", (ROOT / "requirements/check-toolchain").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert ours == (1, int(minor[0]))


def version_of(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))[:2]


@pytest.fixture(scope="module")
def dependencies() -> dict[str, set[str]]:
    """What each crate depends on, but for its tests."""
    run = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    packages = json.loads(run.stdout)["packages"]
    return {p["name"]: {d["name"] for d in p["dependencies"] if d["kind"] != "dev"} for p in packages}


def test_crates_depend_in_one_direction(dependencies: dict[str, set[str]]) -> None:
    own = {name: {d for d in names if d.startswith("bayop-")} for name, names in dependencies.items()}
    assert own == {
        "bayop-core": set(),
        "bayop-idle": set(),
        "bayop-twin": {"bayop-core", "bayop-idle"},
        "bayop-knobs": {"bayop-core"},
        "bayop-load": {"bayop-core"},
        "bayop-tpcc": set(),
        "bayop-tpcc-server": {"bayop-core", "bayop-tpcc"},
        "bayop-agent": {"bayop-core", "bayop-knobs"},
        "bayop-probe": {"bayop-core", "bayop-knobs"},
        "bayop-python": {"bayop-core", "bayop-idle", "bayop-knobs", "bayop-load", "bayop-twin"},
    }


def test_the_library_os_depends_in_one_direction_and_on_nobody_else() -> None:
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    run = subprocess.run(command, cwd=ROOT / "libos", capture_output=True, text=True, check=True)
    packages = json.loads(run.stdout)["packages"]
    assert {p["name"]: {d["name"] for d in p["dependencies"] if d["kind"] != "dev"} for p in packages} == {
        "libos-hal": {"spin"},
        "libos-net": {"libos-hal", "spin"},
        "bayop-idle": set(),
        "libos-runtime": {"libos-net", "bayop-idle", "spin"},
        "bayop-tpcc": {"lock_api"},
        "libos-apps": {"libos-net", "bayop-tpcc"},
        "bayop-core": {"serde", "utoipa"},
        "libos-agent": {"libos-net", "libos-runtime", "bayop-core", "httparse", "serde", "serde_json", "spin"},
        "libos-image": {
            *("libos-hal", "libos-machine", "libos-net", "libos-runtime", "libos-apps", "libos-agent"),
            *("bayop-idle", "spin"),
        },
        "libos-machine": {"libos-hal", "libos-runtime"},
        "libos-smoltcp": {
            *("libos-hal", "libos-machine", "libos-net", "libos-runtime", "libos-apps"),
            *("smoltcp", "spin"),
        },
    }


LIBRARY_OS = ("hal", "net", "runtime", "machine", "apps", "agent")


def test_only_the_hal_of_the_library_os_is_unsafe() -> None:
    roots = {part: ROOT / "libos" / part / "src" / "lib.rs" for part in LIBRARY_OS}
    forbids = {part for part, root in roots.items() if "#![forbid(unsafe_code)]" in root.read_text(encoding="utf-8")}
    assert forbids == {*LIBRARY_OS} - {"hal"}


def test_only_one_crate_depends_on_pyo3(dependencies: dict[str, set[str]]) -> None:
    assert {name for name, names in dependencies.items() if "pyo3" in names} == {"bayop-python"}


def test_only_one_crate_speaks_netlink(dependencies: dict[str, set[str]]) -> None:
    speakers = {name for name, names in dependencies.items() if any("netlink" in n or n == "neli" for n in names)}
    assert speakers == {"bayop-knobs"}


def test_only_the_top_of_the_agent_speaks_http() -> None:
    source = ROOT / "crates" / "agent" / "src"
    speakers = {p.relative_to(source).parts[0] for p in source.rglob("*.rs") if "axum" in p.read_text(encoding="utf-8")}
    assert speakers == {"api", "server"}


KERNEL = re.compile(r"""(?<!\.at\()["']/(?:sys|proc|dev)/|AF_NETLINK|\bioctl\(|\bSIOC[A-Z]""")
"""An interface of the kernel in a source: a path, unless it is an error's place; netlink; an ioctl."""

MAY_TOUCH = {
    "crates/knobs": "it is what all others use",
    "crates/probe": "it tells its eBPF programs what the machine has that they look at",
    "python/bayop/applications/scope.py": "it makes control groups of its own to count what services take",
    "python/bayop/experiments/rig": "it makes network namespaces of its own to try a search in",
    "python/bayop/supervisor.py": "it looks for what a user's command has started",
    "python/bayop/testing": "it looks for threads that were left behind",
}


def test_only_knobs_touches_the_kernel() -> None:
    sources = [*(ROOT / "crates").glob("*/src/**/*.rs"), *(ROOT / "python" / "bayop").rglob("*.py")]
    uses = dict.fromkeys(MAY_TOUCH, 0)
    for source in sources:
        text = source.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
        lines = [line for line in text.splitlines() if not line.lstrip().startswith(("//", "#"))]
        matches = [line.strip() for line in lines if KERNEL.search(line)]
        path = source.relative_to(ROOT).as_posix()
        exempt = next((part for part in MAY_TOUCH if f"{path}/".startswith(f"{part}/")), None)
        if exempt is None:
            assert not matches, f"{path} touches the kernel; crates/knobs does that: {matches}"
        else:
            uses[exempt] += len(matches)
    assert all(uses.values()), f"an exemption is not needed any more: {uses}"


FLAG = re.compile(r"(?<![\w-])--[a-z]")
COMMAND = re.compile(rf"\b(bayop ({'|'.join(VERBS)})|bayop-agent|grep|ray|udevadm) [^;,]*$")
"""The begin of a command, up to a flag of it."""

MAY_SAY_FLAGS = {
    "applications/packages.py": "it runs a script",
    "events": "it describes what verbs print because of a flag",
    "experiments/rig": "it runs programs",
    "latency/ebpf.py": "it runs the eBPF probe",
    "latency/open_loop.py": "it runs bayop probe",
    "load/steady_worker.py": "it is a program itself",
    "papers/claims": "it names the commands that recompute a claim",
    "report/svg.py": "properties of CSS are spelled alike",
}


def test_only_the_command_line_says_its_flags() -> None:
    """An error names a parameter, and `cli.flags.actions.with_flag` its flag: other callers have typed none.

    Lists, and constants of words, are those of programs that are run; a flag after its command is for whoever runs it.
    """
    package = ROOT / "python" / "bayop"
    sources = [p for p in package.rglob("*.py") if p.relative_to(package).parts[0] != "cli"]
    uses = dict.fromkeys(MAY_SAY_FLAGS, 0)
    for source in sources:
        path = source.relative_to(package).as_posix()
        exempt = next((part for part in MAY_SAY_FLAGS if f"{path}/".startswith(f"{part}/")), None)
        texts = list(literals(ast.parse(source.read_text(encoding="utf-8"))))
        said = [text for text in texts if says_flag(text)]
        if exempt is None:
            assert not said, f"{path} says flags of the command line: {said}"
        else:
            uses[exempt] += len(said)
    assert all(uses.values()), f"an exemption is not needed any more: {uses}"


def says_flag(text: str) -> bool:
    return any(not COMMAND.search(text[: flag.start()]) for flag in FLAG.finditer(text))


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ('run(["bayop", "--load", *(("--noload",) if bare else ())])', False),
        ('_ROOT: Final = ("setpriv", "--reuid=nobody")', False),
        ('hint = f"bayop tune --target {place}"', False),
        ('wrong, hint = "--agent-ca did not sign it", None', True),
        ('_HINTS: Final = ("say --load",)', True),
        ('hints = {"bayop needs a longer --window"}', True),
        ('hint = f"{verb} --load"', True),
    ],
)
def test_a_flag_that_is_said_is_found(code: str, says: bool) -> None:  # noqa: FBT001
    assert any(says_flag(text) for text in literals(ast.parse(code))) is says


def test_a_library_marks_what_is_a_parameter() -> None:
    """A place of one word is what a file may be called, too: `with_flag` leaves it as it is."""
    package = ROOT / "python" / "bayop"
    unmarked = [
        f"{source.relative_to(package)}:{keyword.value.lineno}"
        for source in package.rglob("*.py")
        for call in ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("Error")
        for keyword in call.keywords
        if keyword.arg == "place" and re.fullmatch("'[a-z_]+'", ast.unparse(keyword.value))
    ]
    assert unmarked == [], "say parameter="


def literals(tree: ast.Module) -> Iterator[str]:
    """The texts of a module but for docstrings and the words of programs; `{}` is what an f-string fills in."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            skipped.add(node.value)
        elif isinstance(node, ast.List):
            skipped.update(node.elts)
        elif isinstance(node, ast.Starred):
            skipped.update(e for part in ast.walk(node) if isinstance(part, ast.Tuple) for e in part.elts)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Tuple):
            skipped.update(e for e in node.value.elts if isinstance(e, ast.Constant) and " " not in str(e.value))
        elif isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
            if node not in skipped:
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node.value


@pytest.mark.parametrize("crate", ["idle", "tpcc", "twin"])
def test_models_are_pure(crate: str) -> None:
    sources = [*(ROOT / "crates" / crate / "src").rglob("*.rs")]
    assert sources
    for source in sources:
        text = source.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
        for impure in ("Instant", "SystemTime", "std::env", "std::fs", "thread_rng"):
            assert impure not in text, f"{source.relative_to(ROOT)} uses {impure}"


def test_only_the_catalogue_targets_and_what_stands_above_them_know_the_extension() -> None:
    package = ROOT / "python" / "bayop"
    users = {p.relative_to(package).parts[0] for p in package.rglob("*.py") if "_core" in p.read_text(encoding="utf-8")}
    # errors.py names the type of the errors that it takes over, and imports it for the type checker alone.
    assert users == {"errors.py", "catalogue.py", "twin", "load", "idle", "export", "experiments", "cli"}


@pytest.mark.alone
def test_import_is_light() -> None:
    heavy = ("torch", "ax", "matplotlib", "scipy", "rich", "numpy", "polars", "msgspec")
    code = f"import sys, bayop; sys.exit(any(m in sys.modules for m in {heavy!r}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

    def seconds() -> float:
        start_s = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import bayop"], check=True)
        return time.perf_counter() - start_s

    # The best of five: the budget is for the work, not for a busy machine. It includes the interpreter's own start.
    assert min(seconds() for _ in range(5)) < 0.3


def test_the_optimizer_starts_without_the_heaviest_of_scipy() -> None:
    """A second of every search's start would be that of scipy.stats."""
    code = "import sys, bayop.optimize.grey_box; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_package_has_a_folder_of_unit_tests() -> None:
    """But for the contract suites, which are tests, and the command line, whose verbs are tested by their noun."""
    source = ROOT / "python" / "bayop"
    packages = [folder.parent.relative_to(source) for folder in source.rglob("__init__.py")]
    mirrored = [package for package in packages if package.parts and package.parts[0] not in {"cli", "testing"}]
    assert len(mirrored) > 20
    tests = ROOT / "tests" / "unit"
    assert [p.as_posix() for p in mirrored if not any((tests / p).rglob("test_*.py"))] == []


def test_no_circle_of_modules() -> None:
    graph = grimp.build_graph("bayop", cache_dir=None)
    # The face for programs imports nothing: what it names is looked up when it is asked for.
    modules = graph.modules - {"bayop"}
    sorter = TopologicalSorter({m: graph.find_modules_directly_imported_by(m) for m in modules})
    sorter.prepare()  # raises CycleError, which names the circle


CRATES = sorted(path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("*/*/Cargo.toml"))


@pytest.mark.parametrize("crate", CRATES)
def test_no_circle_of_rust_modules(crate: str) -> None:
    sorter = TopologicalSorter(rust_uses(ROOT / crate / "src"))
    sorter.prepare()  # raises CycleError, which names the circle


def test_a_circle_of_rust_modules_is_found(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "lib.rs").write_text("mod a;\nmod b;\npub use b::{c::C, B};\n", encoding="utf-8")
    (tmp_path / "a.rs").write_text("use crate::C; // and crate::B\npub struct A(C);\n", encoding="utf-8")
    (tmp_path / "b" / "mod.rs").write_text("pub mod c;\npub struct B(crate::a::A);\n", encoding="utf-8")
    (tmp_path / "b" / "c.rs").write_text("pub struct C;\n", encoding="utf-8")
    TopologicalSorter(rust_uses(tmp_path)).prepare()
    (tmp_path / "b" / "c.rs").write_text("pub struct C(super::B);\n", encoding="utf-8")
    with pytest.raises(CycleError, match="crate::b::c"):
        TopologicalSorter(rust_uses(tmp_path)).prepare()


RUST_USE = re.compile(r"^ *(pub(?:\([^)]*\))? )?use ([^;]+);", re.MULTILINE)
RUST_TEXT = re.compile(r"""//[^\n]*|r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.|[^\\'])'""", re.DOTALL)
RUST_BRACES = re.compile(r"([\w:]*){([^{}]*)}")


def rust_uses(source: Path) -> dict[str, set[str]]:
    """The modules of a crate, one for each file, with those that define what its code names.

    Re-exporting is no use: whoever names what a module re-exports uses the module that defines it.
    """
    files = {}
    for path in source.rglob("*.rs"):
        parts = path.relative_to(source).with_suffix("").parts
        module = () if parts == ("lib",) else parts[:-1] if parts[-1] == "mod" else parts
        files[("crate", *module)] = RUST_TEXT.sub("", path.read_text(encoding="utf-8").split("#[cfg(test)]\nmod ")[0])
    imports = {
        module: [(bool(public), path) for public, tree in RUST_USE.findall(code) for path in rust_paths(tree)]
        for module, code in files.items()
    }

    def absolute(module: tuple[str, ...], path: list[str]) -> tuple[str, ...] | None:
        """A path in the code of a module, from the root; none for what other crates define."""
        if path[0] in {"self", "super"}:
            ups = path.count("super")
            return (*module[: len(module) - ups], *path[max(ups, 1) :])
        if path[0] == "crate":
            return tuple(path)
        return (*module, *path) if (*module, path[0]) in files else None

    def defining(path: tuple[str, ...]) -> tuple[str, ...]:
        """The module that defines what a path names."""
        module = next(path[:end] for end in range(len(path), 0, -1) if path[:end] in files)
        name, rest = path[len(module) : len(module) + 1], path[len(module) + 1 :]
        for is_public, imported in imports[module]:
            origin = absolute(module, imported)
            if is_public and origin and name == (imported[-1],):
                return defining((*origin, *rest))
        return module

    uses = {}
    for module, code in files.items():
        named = [path for is_public, path in imports[module] if not is_public]
        named += [path.split("::") for path in re.findall(r"\b\w+(?:::\w+)+", RUST_USE.sub("", code))]
        paths = [path for path in (absolute(module, words) for words in named) if path]
        uses["::".join(module)] = {"::".join(defining(path)) for path in paths} - {"::".join(module)}
    return uses


def rust_paths(tree: str) -> list[list[str]]:
    """`a::{b, c::{self, d}}` as `a::b`, `a::c` and `a::c::d`."""
    tree = re.sub(r"\s", "", re.sub(r" as \w+", "", tree))
    while "{" in tree:
        tree = RUST_BRACES.sub(lambda m: ",".join(m[1] + leaf for leaf in m[2].split(",") if leaf), tree)
    return [re.sub(r"::(self|\*)$", "", path).split("::") for path in tree.split(",")]


def test_one_version_everywhere() -> None:
    import bayop
    import bayop._core

    cargo = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    assert f'version = "{bayop.__version__}"' in cargo
    assert bayop.__version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
