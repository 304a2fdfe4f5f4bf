from __future__ import annotations

import re

from bayop.papers.claims.catalogue import CLAIMS
from bayop.papers.claims.claim import PAPERS


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
