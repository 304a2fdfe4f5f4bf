"""What `import bayop` shows: some twenty names, each with an example that runs, and nothing else."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import bayop

NAMES = [name for name in bayop.__all__ if name != "__version__"]
SOURCE = ast.parse(Path(bayop.__file__).read_text(encoding="utf-8"))


def documentation_of(name: str) -> str:
    """The docstring of a name; that of an alias stands below its assignment."""
    value = getattr(bayop, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        return inspect.getdoc(value) or ""
    module = sys.modules["bayop.space"]
    lines = ast.parse(inspect.getsource(module)).body
    at = next(i for i, line in enumerate(lines) if isinstance(line, ast.AnnAssign) and ast.unparse(line.target) == name)
    below = lines[at + 1]
    assert isinstance(below, ast.Expr)
    return str(ast.literal_eval(below.value))


def test_there_are_some_twenty_names_and_no_more() -> None:
    assert 20 <= len(NAMES) <= 24
    assert len(set(bayop.__all__)) == len(bayop.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_there_and_says_what_it_is(name: str) -> None:
    first, _, rest = documentation_of(name).partition("\n")
    assert first.endswith(".")
    assert "Example:\n" in rest


@pytest.mark.parametrize("name", ["bayop", *NAMES])
def test_the_example_of_a_name_does_what_it_shows(name: str) -> None:
    text = inspect.getdoc(bayop) if name == "bayop" else documentation_of(name)
    assert text
    # Nothing is defined but what a fresh prompt has: the example imports what it needs.
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, name, None, None)
    assert test.examples
    written: list[str] = []
    assert doctest.DocTestRunner().run(test, out=written.append).failed == 0, "".join(written)


def test_an_example_uses_the_public_name() -> None:
    for name in NAMES:
        assert f"import {name}" in documentation_of(name) or f", {name}" in documentation_of(name), name


def test_the_listing_has_the_public_names_and_nothing_private_or_loaded() -> None:
    import bayop.twin.target

    assert "twin" in vars(bayop)
    assert dir(bayop) == sorted(bayop.__all__)
    assert not [name for name in dir(bayop) if name.startswith("_") and name != "__version__"]


def test_an_unknown_name_is_the_usual_error() -> None:
    with pytest.raises(AttributeError) as caught:
        bayop.Slow  # type: ignore[attr-defined]  # noqa: B018
    assert str(caught.value) == "module 'bayop' has no attribute 'Slow'"
    assert (caught.value.name, caught.value.obj) == ("Slow", bayop)
    with pytest.raises(ImportError, match="cannot import name 'Slow' from 'bayop'"):
        from bayop import Slow  # type: ignore[attr-defined]  # noqa: F401


def test_every_name_comes_in_at_once_where_that_is_asked_for() -> None:
    code = "from bayop import *; import bayop; assert all(n in globals() for n in bayop.__all__)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_type_checker_is_told_the_object_that_there_is(name: str) -> None:
    """What stands under TYPE_CHECKING, and what is looked up, are two lists."""
    typed = next(node for node in SOURCE.body if isinstance(node, ast.If))
    imports = [node for node in typed.body if isinstance(node, ast.ImportFrom)]
    module = next(str(node.module) for node in imports if name in {alias.name for alias in node.names})
    assert getattr(bayop, name) is getattr(sys.modules[module], name)


def test_what_is_typed_and_what_is_public_are_the_same() -> None:
    typed = next(node for node in SOURCE.body if isinstance(node, ast.If))
    names = {alias.name for node in typed.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names == set(NAMES)


@pytest.mark.parametrize(
    ("use", "but"),
    [
        ("Slo.parse('p99<500us')", ("numpy", "scipy", "polars", "matplotlib", "rich")),
        ("Steps(0, 8, 2)", ("numpy", "scipy", "polars", "matplotlib", "rich")),
        ("TwinTarget", ("scipy", "polars", "matplotlib", "rich")),
        ("open_study", ("scipy", "matplotlib", "rich")),
        ("tune", ("polars", "matplotlib", "rich")),
    ],
)
def test_a_name_brings_no_more_than_it_needs(use: str, but: tuple[str, ...]) -> None:
    code = f"import sys, bayop; bayop.{use}; print(*(m for m in {but!r} if m in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
