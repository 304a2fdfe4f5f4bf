"""Metrics as text, in Prometheus' format 0.0.4."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Family:
    """Samples of one name.

    Attributes:
        name: With its unit; a counter's ends in `_total`.
        kind: `counter`, which only grows while `bayop run` lives, or `gauge`.
        labels: Their names.
        says: What it is, as a sentence without its full stop.
    """

    name: str
    kind: Literal["counter", "gauge"]
    labels: tuple[str, ...]
    says: str

    def at(self, value: float, *labels: str) -> Sample:
        """A sample, with the values of its labels."""
        return Sample(self, labels, value)


@dataclass(frozen=True, slots=True)
class Sample:
    """A value of a family, with the values of its labels in the family's order."""

    family: Family
    labels: tuple[str, ...]
    value: float


def exposition(samples: Iterable[Sample]) -> bytes:
    """The text; samples of a family stand together, families in the order in which they come first."""
    families: defaultdict[Family, list[Sample]] = defaultdict(list)
    for sample in samples:
        families[sample.family].append(sample)
    lines = []
    for family, members in families.items():
        lines += [f"# HELP {family.name} {family.says}.", f"# TYPE {family.name} {family.kind}"]
        lines += [f"{family.name}{_labels(sample)} {sample.value:.15g}" for sample in members]
    return "".join(f"{line}\n" for line in lines).encode()


def _labels(sample: Sample) -> str:
    pairs = zip(sample.family.labels, sample.labels, strict=True)
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
