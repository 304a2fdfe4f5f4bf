"""What a sweep measures: cells, how often, in which order, and with which seeds.

All of it follows from the arguments alone: whoever runs a trial, when and where, it is the same trial.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from bayop.errors import InputError
from bayop.experiments.sweep.load import Load
from bayop.experiments.sweep.repeats import Repeats
from bayop.space import Setting, is_default

# Programs that read a seed as a floating-point number read it exactly.
_SEED_BITS: Final = 53


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting under one load.

    Attributes:
        number: Counts from 1.
        load: What the target is put under; None for the load that it is under anyway.
        setting: What is asked for.
    """

    number: int
    load: Load | None
    setting: Mapping[str, float | str]

    @property
    def is_default(self) -> bool:
        """Whether every knob is left to the operating system."""
        return is_default(self.setting)


@dataclass(frozen=True, slots=True)
class Trial:
    """One measurement of a cell.

    Attributes:
        number: Unique within the sweep, and the same whenever and wherever it runs.
        cell: What is measured.
        repeat: Counts from 1.
        seed: Seed of everything random in it.
    """

    number: int
    cell: Cell
    repeat: int
    seed: int


@dataclass(frozen=True)
class Plan:
    """A sweep before it runs.

    Args:
        target: What is measured, as JSON-ready data that tells it from every other target.
        cells: What is measured of it.
        repeats: How often each cell is measured.
        seed: Seed of the order and of the trials' own seeds.
        version: BayOp's version: another one may measure something else.
    """

    target: Mapping[str, object]
    cells: tuple[Cell, ...]
    repeats: Repeats
    seed: int
    version: str

    @classmethod
    def of(
        cls,
        settings: Sequence[Setting],
        loads: Sequence[Load | None],
        *,
        target: Mapping[str, object],
        repeats: Repeats,
        seed: int,
        version: str,
    ) -> Plan:
        """Every setting under every load.

        Raises:
            InputError: a load or a setting is there twice, or there is none.
        """
        twice = [load for load, count in Counter(loads).items() if count > 1]
        if twice:
            raise InputError("a sweep must have its loads, each once", value=str(twice[0]), parameter="load")
        pairs = [(load, dict(setting)) for load in loads for setting in settings]
        if not pairs or len({(load, *setting.items()) for load, setting in pairs}) != len(pairs):
            raise InputError("a sweep must have at least one setting and one load, each once", value=len(pairs))
        cells = tuple(Cell(i, load, setting) for i, (load, setting) in enumerate(pairs, start=1))
        return cls(target=target, cells=cells, repeats=repeats, seed=seed, version=version)

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that tell this plan from every other."""
        identity = {
            "target": self.target,
            "cells": [[cell.load and cell.load.amount, list(cell.setting.items())] for cell in self.cells],
            "repeats": self.repeats.describe(),
            "seed": self.seed,
            "version": self.version,
        }
        text = json.dumps(identity, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def study(self) -> str:
        """What the study is called that this plan makes; no two plans make studies of one name."""
        return f"sweep-{self.fingerprint}"

    def trial(self, cell: Cell, repeat: int) -> Trial:
        """The trial that is one repeat of a cell."""
        sequence = np.random.SeedSequence([self.seed, cell.number, repeat])
        seed = int(sequence.generate_state(1, np.uint64)[0]) >> (64 - _SEED_BITS)
        return Trial((cell.number - 1) * self.repeats.most + repeat, cell, repeat, seed)

    def place_of(self, number: int) -> tuple[Cell, int]:
        """The cell and the repeat that a trial's number stands for; the inverse of `trial`."""
        cell, repeat = divmod(number - 1, self.repeats.most)
        return self.cells[cell], repeat + 1

    def order(self, repeat: int) -> list[int]:
        """The place of every cell, in the order of `cells`, in one round of repeats.

        Every round is a block in which each cell is there once, in an order of its own: what drifts slowly (heat, a
        neighbour's load) falls on all settings alike.
        """
        generator = np.random.default_rng(np.random.SeedSequence([self.seed, repeat, len(self.cells)]))
        places: list[int] = generator.permutation(len(self.cells)).tolist()
        return places
