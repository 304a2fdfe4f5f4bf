"""Every message says what happened: the sources, read without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from bayop.errors import BayopError

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted(path for folder in ("python", "lab", "bench") for path in (ROOT / folder).rglob("*.py"))


def subclasses(kind: type[BayopError]) -> Iterator[str]:
    yield kind.__name__
    for each in kind.__subclasses__():
        yield from subclasses(each)


def error_names() -> set[str]:
    """The errors of the project by name."""
    for module in ("live.agent.transport", "load.steady", "load.wire"):
        import_module(f"bayop.{module}")
    return set(subclasses(BayopError)) | {"LabError", "CommandError"}


def words_of(node: ast.expr) -> str:
    """The literal part of a text; what is put in is left out."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
        case ast.BinOp(left=left, right=right):
            return words_of(left) + words_of(right)
    return ""


def is_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant | ast.JoinedStr)


def faults(source: str, file: str, names: set[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", None) not in names:
            continue
        place = f"{file}:{node.lineno}"
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        if not {"wrong", "value", None} & keywords.keys():
            yield f"{place} states a rule alone: it must say what is wrong"
        if node.args and is_literal(node.args[0]) and " must " not in f" {words_of(node.args[0])} ":
            yield f"{place} states a rule as a fact: it must say must"
        for text in (*node.args, *(keywords[name] for name in ("wrong", "hint") if name in keywords)):
            if words_of(text).endswith(".") and not words_of(text).endswith("..."):
                yield f"{place} ends with a full stop"


def test_every_message_says_what_is_wrong_and_its_rule_says_must() -> None:
    names = error_names()
    messages = [
        fault for path in FILES for fault in faults(path.read_text("utf-8"), str(path.relative_to(ROOT)), names)
    ]
    assert not messages, "\n".join(messages)


@pytest.mark.parametrize(
    "source",
    ['InputError("a load is positive", value=1)', 'InputError("a load must be positive")', 'InputError(wrong="No.")'],
)
def test_the_reading_finds_messages_that_are_not_as_they_must_be(source: str) -> None:
    assert list(faults(source, "x.py", {"InputError"}))
