from __future__ import annotations

from dataclasses import replace

import pytest

from bayop.carbon.compare import compare
from bayop.carbon.files import Entry
from bayop.carbon.grid import Grid
from bayop.carbon.intensity import intensity
from bayop.carbon.notebook import notebook_intensity
from bayop.carbon.stack import Stack


def test_ratios_are_to_the_least_of_the_same_application(stack: Stack, grid: Grid) -> None:
    stacks = [stack, replace(stack, name="old", qps=0.8e6), replace(stack, app="silo", qps=1e5)]
    found = compare([Entry(stack, notebook_power_w=0.0) for stack in stacks], lambda _: grid, 5.0)
    assert [c.ratio for c in found] == pytest.approx([1.0, 2.0, 1.0])
    assert [c.server_ratio for c in found] == pytest.approx([1.0, 2.0, 1.0])
    assert [c.notebook_ratio for c in found] == pytest.approx([1.0, 2.0, 1.0])


def test_the_servers_part_leaves_the_network_out(stack: Stack, grid: Grid) -> None:
    """Twice the server's part and the same network: the network, which is nearly everything, hides it."""
    bare = replace(stack, reused=True)
    both = [Entry(bare), Entry(replace(bare, name="twice", power_w=2.0 * bare.power_w))]
    _, twice = compare(both, lambda _: grid, 5.0)
    assert twice.server_ratio == pytest.approx(2.0)
    assert twice.ratio == pytest.approx((2.0 * 236.8 + 13_500.0) / (236.8 + 13_500.0))


def test_each_stack_has_its_own_grid(stack: Stack) -> None:
    """All else equal, what runs on half of the carbon emits half; the notebooks know no grid."""
    grids = {"clean": Grid((100.0,)), "dirty": Grid((200.0,))}
    entries = [Entry(replace(stack, name=name, reused=True), notebook_power_w=1.0) for name in grids]
    clean, dirty = compare(entries, lambda entry: grids[entry.stack.name], 5.0)
    assert (clean.grid, dirty.grid) == (grids["clean"], grids["dirty"])
    assert (clean.ratio, dirty.ratio) == pytest.approx((1.0, 2.0))
    assert dirty.notebook_ratio == 1.0
    assert dirty.intensity == intensity(entries[1].stack, grids["dirty"], 5.0)


def test_the_notebook_counts_with_its_own_power(stack: Stack, grid: Grid) -> None:
    (found,) = compare([Entry(stack, notebook_power_w=50.0)], lambda _: grid, 5.0)
    assert found.notebook_mg == notebook_intensity(stack, power_w=50.0)
    assert found.notebook_mg != notebook_intensity(stack)
