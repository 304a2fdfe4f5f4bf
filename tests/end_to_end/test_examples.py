"""Every example runs as people start it, and says what it is about; every notebook runs from its top to its end.

Notebooks are run without Jupyter: their cells, one after the other, in one namespace, as a kernel would. Its packages
(nbclient, nbformat, ipykernel and what these need) would be 29 more in requirements/dev.txt. What ends a cell is shown,
as a notebook does, by its picture or its text.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
LIMIT_S = 60
"""Each takes a few seconds; a machine with other work, longer."""

# What an example is about: a line of what it prints.
KEY_LINES = {
    "ask_and_tell": r"best: \{'app\.workers': \d+, 'app\.batch': \d+\}, [56]\d\.\d W instead of 129\.0 W",
    "knob_from_script": r"failed: the power meter does not answer\nput back: threads = 6",
    "load_study": r"best:    74\.2 W, p99 480 us at 300\.0 us, 1700\.0 MHz\nit saves 43%",
    "own_knob": r"a batch of \d+ among 4 knobs\n.*: idle.max_latency_us \(us\), app.batch\nput back: a batch of 1",
    "own_optimizer": r"grey-box +\d trials, \d over the SLO: 7[34]\.\d W",
    "own_target": r"\d+ trials, \w+; found \{'app\.threads': [567]\}\nput back: 16 threads\nrefused: .*must be 1 to 32",
    "run_twin": r"400 us +11\d\.\d W +\d+ us +6\d\.\d W",
    "tune_twin": r"ended after \d trials: converged\nsaves (3\d|4\d)%: 5\d\.\d instead of 9\d\.\d W",
    "warm_start": r"400,000 requests/s: \d+ trials from scratch, [1-3] with \d+ seen before",
}
# And of the notebooks: what its cells show in order, a picture or the beginning of a text.
SHOWN = {
    "search": [r"\('converged', \d+, \{'nic\.rx_usecs': ", "picture", r"0\.[3-5]", r"\[.*, 8\]", "picture"],
    "study": [r"shape: \(5, 5\)", "picture", r"shape: \(\d+, 3\)"],
}


def test_every_example_and_notebook_is_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == KEY_LINES.keys()
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == SHOWN.keys()


@pytest.mark.parametrize("name", KEY_LINES)
def test_an_example_says_what_it_is_about(name: str, tmp_path: Path) -> None:
    words = [sys.executable, str(FOLDER / f"{name}.py")]
    run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert re.search(KEY_LINES[name], run.stdout), run.stdout
    assert list(tmp_path.iterdir()) == [], "it leaves no file behind"


@pytest.mark.parametrize("name", KEY_LINES)
def test_an_example_is_short_explains_itself_and_uses_what_is_public(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert 15 <= len(text.splitlines()) <= 50
    assert ast.get_docstring(tree)
    modules = {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    # `Modelled` is for those who write a target.
    assert {module for module in modules if module.startswith("bayop.")} <= {"bayop.target.base"}


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_runs_and_shows_its_figures(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    texts = [text for code in code_of(name) if (text := run_cell(code, namespace)) is not None]
    assert len(texts) == len(SHOWN[name])
    for text, expected in zip(texts, SHOWN[name], strict=True):
        assert re.match(expected, text), text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_is_committed_without_what_it_showed(name: str) -> None:
    cells = cells_of(name)
    assert cells[0]["cell_type"] == "markdown"
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells if cell["cell_type"] == "code")
    assert len({cell["id"] for cell in cells}) == len(cells)


def cells_of(name: str) -> list[dict[str, Any]]:
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    cells: list[dict[str, Any]] = notebook["cells"]
    return cells


def code_of(name: str) -> list[str]:
    return ["".join(cell["source"]) for cell in cells_of(name) if cell["cell_type"] == "code"]


def run_cell(code: str, namespace: dict[str, Any]) -> str | None:
    """Runs a cell; what a notebook would show below it."""
    body = ast.parse(code).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), namespace)  # noqa: S102 -- our own notebook
    if not isinstance(last, ast.Expr):
        return None
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)  # noqa: S307 -- likewise
    if hasattr(value, "_repr_png_"):
        assert value._repr_png_().startswith(b"\x89PNG")
        return "picture"
    return repr(value)
