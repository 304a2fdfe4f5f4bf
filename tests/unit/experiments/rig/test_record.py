from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import pytest

from bayop.experiments.rig.record import LiveRecord, Point
from bayop.measurement import Measurement
from bayop.slo import Slo

SLO = Slo.parse("p99<250us")
SETTING = {"napi.gro_flush_timeout_us": 100, "napi.defer_hard_irqs": 2}


def point(power_w: float, p99_us: float, cut_short: str | None = None) -> Point:
    quantities = {"power_w": power_w, "p99_us": p99_us, "qps": 1000.0, "net_rx_per_s": 2000.0, "service_cpu": 0.03}
    return Point.of(SETTING, Measurement(quantities, {"p99_us": 0.01}, cut_short))


def record() -> LiveRecord:
    return LiveRecord(
        machine="a machine",
        slo=str(SLO),
        objective="power",
        qps=1000.0,
        seed=1,
        estimated=True,
        busy_before=0.1,
        default=point(60.0, 100.0),
        sweep=[point(50.0, 200.0), point(40.0, 300.0), point(40.0, 900.0, "p99 900 us, over 750 us")],
        search=[point(50.0, 200.0)],
        stopped="converged",
        held=SETTING,
        best=SETTING,
        again={"search": [point(51.0, 200.0), point(53.0, 200.0)], "sweep": [point(50.0, 200.0), point(50.0, 200.0)]},
    )


def test_a_record_survives_json() -> None:
    original = record()
    assert msgspec.json.decode(json.dumps(original.to_json()), type=LiveRecord) == original


def test_points_say_what_a_request_costs() -> None:
    window = point(50.0, 200.0)
    assert window.per_request("net_rx_per_s") == 2.0
    assert window.cpu_us == pytest.approx(30.0)
    assert window.per_request("interrupts_per_s") is None
    assert replace(window, cut_short="harm").cpu_us is None
    assert [p.meets(SLO) for p in record().sweep] == [True, False, False]
