"""Loads a study, and finds in it the setting that meets an SLO for the least power."""

import polars as pl

from bayop import Slo, open_study

SLO = Slo.parse("p99<500us")

# A row is a trial: what was asked of the knobs (null: left to the operating system), and what was measured.
study = open_study("example:memcached").filter(pl.col("qps_offered") == 600_000)
print(f"{study.height} trials of memcached at 600K requests/s")

knobs = ["asked.nic.rx_usecs", "asked.cpu.freq_mhz"]
settings = study.group_by(knobs).agg(pl.col("power_w", SLO.quantity).mean(), pl.len().alias("repeats"))
default = settings.filter(pl.all_horizontal(pl.col(knobs).is_null())).row(0, named=True)
meeting = settings.filter(pl.col(SLO.quantity) < SLO.limit_us)
best = meeting.sort("power_w").row(0, named=True)

print(f"{meeting.height} of {settings.height} settings meet {SLO}")
print(f"default: {default['power_w']:.1f} W, p99 {default['p99_us']:.0f} us")
print(f"best:    {best['power_w']:.1f} W, p99 {best['p99_us']:.0f} us at {best[knobs[0]]} us, {best[knobs[1]]} MHz")
print(f"it saves {1 - best['power_w'] / default['power_w']:.0%}")
