from __future__ import annotations

from dataclasses import replace

import pytest

from bayop.carbon.stack import Stack


def test_a_machine_was_made_of_its_components(stack: Stack) -> None:
    assert stack.made_kg == pytest.approx(221.9)
    assert stack.charged_kg == stack.made_kg


def test_a_reused_machine_was_made_and_is_not_charged(stack: Stack) -> None:
    reused = replace(stack, reused=True)
    assert reused.made_kg == stack.made_kg
    assert reused.charged_kg == 0.0


def test_the_network_takes_energy_for_each_byte(stack: Stack) -> None:
    """5 GB/s at 2.7 uJ/byte."""
    assert stack.network_w == pytest.approx(13_500.0)
    assert replace(stack, network_j_per_byte=0.0).network_w == 0.0
