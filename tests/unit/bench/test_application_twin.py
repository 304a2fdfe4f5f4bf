from __future__ import annotations

from pathlib import Path

import pytest
from bench.applications import twin
from bench.applications.twin import FITTED_SHARES, SHARES, Row, Window, foretell, main, table

from bayop.space import FREQ_MHZ, RX_USECS
from bayop.twin.profile_library import load_profile
from bayop.twin.validate import Cell, simulate_cells


def test_a_server_that_is_as_the_profile_says_is_foretold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twin, "_REQUESTS", 20_000)
    profile = load_profile(str(Path(twin.__file__).with_name("rig.toml")))
    server = profile.with_values({"app.request_us": 120.0, "app.service_log_sd": 0.5, "app.network_us": 40.0})
    cells = [Cell("linux", share * 5000, {RX_USECS: 2.0, FREQ_MHZ: 1000.0}, 1, {}) for share in SHARES]
    truth = simulate_cells(server, cells, requests=100_000, seed=7, threads=1)
    names = ("p50_us", "p90_us", "p99_us", "utilization")
    windows = [
        Window("mine", share, 5000 * share, **{name: one[name] for name in names}, stolen=0.001)
        for share, one in zip(SHARES, truth, strict=True)
    ]
    rows = foretell(windows)
    assert {row.share for row in rows if not row.is_fitted} == {*SHARES} - {*FITTED_SHARES}
    assert all(abs(row.error) <= twin.BARS[row.quantity] / 2 for row in rows)
    assert "- mine at 30 %: all bars are kept\n- mine at 60 %: all bars are kept" in table(rows)


def test_loads_that_were_not_fitted_are_held_against_the_bars() -> None:
    rows = [
        Row("mine", share, 1000.0, share in FITTED_SHARES, quantity, 100.0, 115.0 if share > 0.4 else 100.0)
        for share in SHARES
        for quantity in twin.BARS
    ]
    assert table(rows).splitlines()[-2:] == [
        "- mine at 30 %: all bars are kept",
        "- mine at 60 %: over the bar: p50, utilization",
    ]


def test_an_unknown_application_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--apps", "nope"])
    assert "--apps must be of img-dnn, nodejs, tpcc, xapian, not 'nope'" in capsys.readouterr().err
