from __future__ import annotations

import shutil
import subprocess

import pytest

from bayop.cli.completion import SHELLS, script
from bayop.cli.parser import VERBS

COMPLETE = """
source /dev/stdin <<< "$SCRIPT"
COMP_WORDS=({words}) COMP_CWORD=$(({count} - 1))
"$(complete -p bayop | sed 's/.*-F \\([^ ]*\\) .*/\\1/')" bayop "${{COMP_WORDS[-1]}}" ""
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_every_verb(shell: str) -> None:
    text = script(shell)
    assert all(verb in text for verb in VERBS)
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=text, text=True, check=True)


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("bayop tu", "tune"),
        ("bayop tune --optim", "--optimizer"),
        ("bayop tune --optimizer gr", "grey-box"),
        ("bayop twin va", "validate"),
    ],
)
def test_bash_completes(typed: str, completed: str) -> None:
    line = COMPLETE.format(words=typed, count=len(typed.split()))
    environment = {"SCRIPT": script("bash"), "PATH": "/usr/bin:/bin"}
    run = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, check=True)
    assert completed in run.stdout.split(), run.stderr
