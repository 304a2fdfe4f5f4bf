"""Tunes the twin: the least power under an SLO, in a few trials, and what it saves."""

from bayop import TwinTarget, tune

server = TwinTarget.from_profile("linux-memcached", qps=400_000, seed=0)
result = tune(server, "p99<500us", max_trials=12)

for trial in result.trials:
    text = ", ".join(f"{knob_id} {value}" for knob_id, value in trial.setting.items())
    verdict = "meets the SLO" if trial.meets_slo else "misses it"
    print(f"{trial.number}: {text}: {trial.measurement['power_w']:.1f} W, {verdict}")
print(f"ended after {len(result.trials)} trials: {result.stopped}")

# The result is applied: another window shows what it is worth.
before, after = server.baseline(), server.measure()
saving = 1 - after["power_w"] / before["power_w"]
print(f"saves {saving:.0%}: {after['power_w']:.1f} instead of {before['power_w']:.1f} W, p99 {after['p99_us']:.0f} us")
server.restore()
