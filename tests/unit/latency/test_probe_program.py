from __future__ import annotations

import time

import pytest

from bayop.errors import InputError
from bayop.latency.base import Latency, Vantage
from bayop.latency.probe_program import measure_with


def measure(printed: str) -> Latency:
    return measure_with(
        ["printf", "%s", printed], name="a probe", duration_s=0.05, sleep=time.sleep, hint="a longer window"
    )


def test_quantiles_mean_and_load_are_read_and_the_rest_is_the_probes_own() -> None:
    latency = measure(
        '{"vantage": "server+wait", "requests": 200, "p50_us": 80, "p999_us": 310.5, "mean_us": 90, "qps": 1000,'
        ' "lost": 3, "p99_ms": 1, "relative_sd": {"p50_us": 0.02, "lost": 0.5}}'
    )
    assert latency.vantage is Vantage.SERVER_AND_WAIT
    assert latency.quantities == {"p50_us": 80.0, "p999_us": 310.5, "mean_us": 90.0, "qps": 1000.0}
    assert latency.relative_sd == {"p50_us": 0.02}


@pytest.mark.parametrize("value", ["null", "0", "-1", "true", '"3"'])
def test_what_is_no_positive_number_was_not_measured(value: str) -> None:
    latency = measure(f'{{"vantage": "probe", "p50_us": 80, "p99_us": {value}, "relative_sd": {{"p50_us": {value}}}}}')
    assert (latency.quantities, latency.relative_sd) == ({"p50_us": 80.0}, {})


@pytest.mark.parametrize(
    "printed",
    [
        "", "p50 80", "[]", "80", "{}",
        '{"vantage": "probe", "p50_us": 80}',
        '{"p50_us": 80, "relative_sd": {}}',
        '{"vantage": "moon", "p50_us": 80, "relative_sd": {}}',
        '{"vantage": "probe", "p50_us": 80, "relative_sd": 3}',
        '{"vantage": "probe", "p50_us": NaN, "relative_sd": {}}',
    ],
)  # fmt: skip
def test_anything_else_is_no_probe(printed: str) -> None:
    with pytest.raises(InputError, match="a probe must print one JSON object for a window") as caught:
        measure(printed)
    assert (caught.value.value, caught.value.hint) == (printed, "run it by hand")


def test_a_window_without_requests_says_what_helps() -> None:
    with pytest.raises(InputError, match=r"the window had too few requests \(3\)") as caught:
        measure('{"vantage": "probe", "requests": 3, "qps": 2, "p99_us": null, "relative_sd": {}}')
    assert caught.value.hint == "a longer window"


def test_the_servers_own_view_is_refused() -> None:
    with pytest.raises(InputError, match="a search must be fed with what clients see"):
        measure('{"vantage": "server", "p99_us": 80, "relative_sd": {}}')
