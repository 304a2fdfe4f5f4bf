from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import bayop
from bayop.papers.claims.catalogue import CLAIMS
from bayop.papers.claims.claim import PAPERS, Claim

_DRAWN_IN = {
    "report": "report/study",
    "demo": "report/day",
    "idle": "report",
    "interrupts": "report/interrupts",
    "twin": "report/generality.py",
    "carbon": "cli/carbon",
}
"""Where the figures of a command get their names."""


def test_claims_have_ids_of_their_own_and_commands_that_are_ours() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert all(claim.command.startswith(("bayop ", "python -m bench.")) for claim in CLAIMS)


def test_ids_are_words_for_a_command_line() -> None:
    assert [claim.id for claim in CLAIMS if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", claim.id)] == []


def test_every_paper_claims_something_and_nobody_else_does() -> None:
    assert {claim.paper for claim in CLAIMS} == set(PAPERS)


def test_a_figure_comes_from_a_command_that_draws() -> None:
    commands = [claim.command for claim in CLAIMS if claim.figure is not None]
    assert commands
    assert all(" --out " in command for command in commands)


def _names_of_figures(place: Path) -> Iterator[str]:
    """What every `Drawing` is named, as a pattern: `f"{slug}-pareto"` is `.+-pareto`."""
    for file in place.rglob("*.py") if place.is_dir() else [place]:
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Drawing":
                name = call.args[0] if call.args else next(k.value for k in call.keywords if k.arg == "name")
                parts = name.values if isinstance(name, ast.JoinedStr) else [name]
                yield "".join(re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".+" for p in parts)


@pytest.mark.parametrize("claim", [c for c in CLAIMS if c.figure], ids=lambda claim: claim.id)
def test_a_figure_is_one_that_the_command_draws(claim: Claim) -> None:
    place = Path(bayop.__file__).parent / _DRAWN_IN[claim.command.split()[1]]
    patterns = list(_names_of_figures(place))
    assert any(re.fullmatch(pattern, claim.figure or "") for pattern in patterns), patterns


def test_what_speaks_of_ebbrt_shows_it() -> None:
    reports = [claim for claim in CLAIMS if claim.command.startswith(("bayop report", "bayop demo"))]
    speak = [claim for claim in reports if re.search("ebbrt", f"{claim.id} {claim.statement}", re.IGNORECASE)]
    assert len(speak) > 10
    assert [claim.id for claim in speak if "--with-ebbrt" not in claim.command] == []
