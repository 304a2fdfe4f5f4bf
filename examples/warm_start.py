"""Starts a search from what an earlier one has seen: the load is an input of the model, so a new load costs less."""

from collections.abc import Sequence

from bayop import Objective, Observation, Problem, Slo, TwinTarget, make_optimizer, run_search

SLO = Slo.parse("p99<400us")


def search(qps: float, history: Sequence[Observation]) -> list[Observation]:
    """The trials of a search of the twin under a load, by what is known from others."""
    server = TwinTarget.from_profile("linux-memcached", qps=qps, seed=1)
    objective = Objective.parse("power", SLO)
    problem = Problem(server.space.without_auto(), SLO, objective, qps, history=tuple(history))
    result = run_search(server, problem, make_optimizer("grey-box", problem, seed=0), max_trials=15)
    return [Observation(trial.setting, trial.measurement, qps) for trial in result.trials]


observations: list[Observation] = []
for load in (200_000, 300_000, 400_000):
    cold, warm = search(load, ()), search(load, observations)
    print(f"{load:,} requests/s: {len(cold)} trials from scratch, {len(warm)} with {len(observations)} seen before")
    observations += warm
