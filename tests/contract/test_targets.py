"""Every target keeps the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayop.space import Choices, Knob, Space, Steps
from bayop.target.base import Target
from bayop.target.study import StudyTarget
from bayop.target.twin import TwinTarget, load_profile
from bayop.testing.fakes import FakeServer
from bayop.testing.studies import write_study
from bayop.testing.targets import TargetContract


class TestFake(TargetContract):
    def make(self, *, seed: int) -> Target:
        return FakeServer(seed=seed)


class TestFakeWithOtherKnobs(TargetContract):
    def make(self, *, seed: int) -> Target:
        governor = Knob("idle.governor", Choices(("menu", "teo")))
        return FakeServer(Space((governor, Knob("power.cap_w", Steps(60, 120, 5), auto=True))), seed=seed)


class TestPublishedStudy(TargetContract):
    @pytest.fixture(autouse=True)
    def _locate(self, data: Path) -> None:
        self.path = data / "study_memcached.csv"

    def make(self, *, seed: int) -> Target:
        return StudyTarget(self.path, os="linux", qps=600_000.0, seed=seed)


class TestPublishedStudyWithoutDefault(TargetContract):
    @pytest.fixture(autouse=True)
    def _locate(self, data: Path) -> None:
        self.path = data / "study_memcached.csv"

    def make(self, *, seed: int) -> Target:
        return StudyTarget(self.path, os="ebbrt", qps=200_000.0, seed=seed)


class TestSmallStudy(TargetContract):
    """The fewest columns and points that a study may have."""

    @pytest.fixture(autouse=True)
    def _write(self, tmp_path: Path) -> None:
        self.path = write_study(tmp_path / "study.csv")

    def make(self, *, seed: int) -> Target:
        return StudyTarget(self.path, os="linux", qps=1000.0, seed=seed)


class TestTwin(TargetContract):
    def make(self, *, seed: int) -> Target:
        return TwinTarget(load_profile("ebbrt-memcached"), qps=200_000.0, seed=seed, requests=20_000)


class TestTwinWithGovernors(TargetContract):
    def make(self, *, seed: int) -> Target:
        return TwinTarget(load_profile("linux-silo"), qps=50_000.0, seed=seed, requests=8_000)
