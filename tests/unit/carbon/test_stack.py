from __future__ import annotations

from dataclasses import replace

import pytest

from bayop.carbon.stack import Stack


def test_a_machine_was_made_of_its_components(stack: Stack) -> None:
    assert stack.made.to("kgCO2e").magnitude == pytest.approx(221.9)
    assert stack.charged == stack.made


def test_a_reused_machine_was_made_and_is_not_charged(stack: Stack) -> None:
    reused = replace(stack, reused=True)
    assert reused.made == stack.made
    assert reused.charged.to("kgCO2e").magnitude == 0.0


def test_the_network_takes_energy_for_each_byte(stack: Stack) -> None:
    """5 GB/s at 2.7 uJ/byte."""
    assert stack.network_power.to("kW").magnitude == pytest.approx(13.5)
    assert replace(stack, network_j_per_byte=0.0).network_power.to("W").magnitude == 0.0


def test_power_over_throughput_is_the_energy_of_a_request(stack: Stack) -> None:
    assert (stack.power / stack.throughput).to("uJ/request").magnitude == pytest.approx(148.0)
