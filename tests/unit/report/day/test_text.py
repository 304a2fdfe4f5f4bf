from __future__ import annotations

from dataclasses import replace

from bayop.experiments.day.record import DayRecord
from bayop.experiments.day.summary import summarize
from bayop.report.day import text


def test_the_headline_has_the_numbers(record: DayRecord) -> None:
    row = next(r for r in summarize(record) if r.id == "bayop-linux")
    line = text.headline(record)
    assert line.startswith("Simulated: ")
    assert f"{row.saving:.1%} less energy" in line
    assert f"{row.energy_kwh:.2f} instead of" in line


def test_more_energy_is_called_more(record: DayRecord) -> None:
    hot = [
        replace(run, windows=tuple(replace(w, power_w=(w.power_w or 0.0) * 3) for w in run.windows))
        if run.id == "bayop-linux"
        else run
        for run in record.runs
    ]
    worse = replace(record, runs=tuple(hot))
    assert "more energy" in text.headline(worse)
    assert text.worth(worse) is None


def test_latency_alone_is_told_as_latency(record: DayRecord) -> None:
    assert "brought the p99 from" in text.headline(replace(record, objective="latency"))
    assert "latency alone" in text.about_margin(replace(record, objective="latency"))


def test_a_kept_slo_and_a_missed_one(record: DayRecord) -> None:
    row = summarize(record)[0]
    assert text.kept(record, replace(row, hours_over=0)) == "It met p99<300us all day."
    assert "for 6 minutes of 2 hours" in text.kept(record, replace(row, hours_over=0.1))
    assert "for 20 seconds" in text.kept(record, replace(row, hours_over=20 / 3600))


def test_the_load_names_its_source(record: DayRecord) -> None:
    assert "OSDI 2020" in text.about_load(record)
    assert "trace.csv" in text.about_load(replace(record, curve="trace.csv"))


def test_the_first_search_is_told_step_by_step(record: DayRecord) -> None:
    run = record.run("bayop-linux")
    assert run is not None
    told = text.about_first_search(record, run)
    assert told.count("<b>") == len(run.searches[0].trials)
    assert "2 us at 2.9 GHz" in told
