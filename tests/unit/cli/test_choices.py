"""What flags offer, which they list themselves so that help and completion load no library, is what there is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

import pytest
import shtab

from bayop.cli.commands import all_commands
from bayop.idle.synthetic import KINDS
from bayop.interrupts.runs import EbbrtApp
from bayop.load.http_request import Method as HttpMethod
from bayop.load.plan import PRESETS, Dialect
from bayop.model.examine import Model
from bayop.model.published_fit import Method

CHOICES = {
    (" ".join(command.words), flag.option_strings[0] if flag.option_strings else flag.dest): list(flag.choices)
    for command in all_commands()
    for flag in (*command.flags(), *command.operands())
    if isinstance(flag.choices, tuple)
}


@pytest.mark.parametrize(
    ("verb", "flag", "there_are"),
    [
        ("idle synthesize", "kind", KINDS),
        ("fit", "--model", get_args(Model)),
        ("fit", "--method", get_args(Method)),
        ("load", "--protocol", get_args(Dialect)),
        ("load", "--workload", PRESETS),
        ("load", "--method", get_args(HttpMethod)),
        ("study import", "--ebbrt-app", get_args(EbbrtApp)),
    ],
)
def test_what_is_offered_is_what_there_is(verb: str, flag: str, there_are: Iterable[str]) -> None:
    assert sorted(CHOICES[verb, flag]) == sorted(there_are)


def test_every_shell_that_is_offered_is_one_that_scripts_are_made_for() -> None:
    assert set(CHOICES["completion", "shell"]) <= set(shtab.SUPPORTED_SHELLS)
