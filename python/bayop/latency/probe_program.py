"""What BayOp's two probes have in common: a program that measures one window and prints it as one JSON object.

Such as `{"vantage": "probe", "requests": 2000, "p99_us": 310.5, "relative_sd": {"p99_us": 0.02}}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bayop.errors import InputError
from bayop.json_text import parse_object
from bayop.latency.base import GRACE_S, Latency, Vantage, check_vantage
from bayop.latency.program import run_program
from bayop.slo import quantile_of


def measure_with(
    words: Sequence[str], *, name: str, duration_s: float, sleep: Callable[[float], None], hint: str
) -> Latency:
    """Runs a probe for one window.

    Args:
        words: The program and its arguments.
        name: What errors call it.
        duration_s: The window's length, which the arguments say too.
        sleep: How to wait; when it raises, the probe is ended.
        hint: What to do about a window without requests.

    Raises:
        InputError: the probe can't be run or fails, can't see what is tuned, or saw too few requests.
    """
    place = f"{name} {words[0]}"
    printed = run_program(words, environment={}, duration_s=duration_s, grace_s=GRACE_S, sleep=sleep, place=place)
    return read_probe(printed, place=place, hint=hint)


def read_probe(printed: str, *, place: str, hint: str) -> Latency:
    """The latency that a probe has printed.

    Raises:
        InputError: it is anything else, can't see what is tuned, or is of too few requests.
    """
    rule, by_hand = "a probe must print one JSON object for a window", "run it by hand"
    seen = parse_object(printed, rule=rule, place=place, hint=by_hand)
    try:
        vantage, sd = Vantage(seen["vantage"]), _numbers(seen["relative_sd"])
        quantities = {k: v for k, v in _numbers(seen).items() if quantile_of(k) is not None or k in ("mean_us", "qps")}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(rule, value=printed[:80], place=place, hint=by_hand) from None
    check_vantage(vantage, place=f"{place}, vantage")
    if not any(quantile_of(k) for k in quantities):
        raise InputError(
            wrong=f"the window had too few requests ({seen.get('requests')})",
            value=seen.get("requests"),
            place=place,
            hint=hint,
        )
    return Latency(quantities, vantage, {k: v for k, v in sd.items() if k in quantities})


def _numbers(values: Mapping[str, object]) -> dict[str, float]:
    """The entries that are positive numbers."""
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    }
