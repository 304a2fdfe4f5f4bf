"""An optimizer of one's own, beside BayOp's: who finds the best setting of a published study in how many trials?"""

import bayop


class OneKnobAtATime:
    """Lowers the frequency until the SLO is missed, then does the same with a longer delay: what people do by hand."""

    def __init__(self, problem: bayop.Problem, *, seed: int) -> None:
        del seed  # nothing is random here
        self._slo = problem.slo
        self._best: bayop.Setting = {"nic.rx_usecs": 2, "cpu.freq_mhz": 2900}
        self._queue = [{"cpu.freq_mhz": mhz} for mhz in range(2900, 1200, -200)]
        self._queue += [{"nic.rx_usecs": us} for us in range(50, 401, 50)]

    def ask(self, trials_left: int) -> bayop.Proposal | bayop.Finished:
        """The next value of the knob, with the best of the other."""
        del trials_left
        return bayop.Proposal({**self._best, **self._queue[0]}) if self._queue else bayop.Finished("exhausted")

    def tell(self, observation: bayop.Observation) -> None:
        """Keeps what meets the SLO; what misses it ends this knob's turn."""
        tried = self._queue.pop(0)
        if observation.meets(self._slo):
            self._best = observation.setting
        else:
            self._queue = [step for step in self._queue if step.keys() != tried.keys()]

    def incumbent(self) -> bayop.Setting | None:
        """What would be held now."""
        return self._best

    def predict(self, setting: bayop.Setting) -> None:
        """There is no model to ask."""


def compare(name: str, optimizer: str | type[bayop.Optimizer]) -> None:
    """Lets one of them search; what it found is judged by the study's own means, which no optimizer sees."""
    server = bayop.study_target("example:memcached", os="linux", qps=600_000, seed=0)
    result = bayop.tune(server, "p99<500us", optimizer=optimizer, max_trials=20)
    assert result.setting is not None
    power_w, missed = server.truth(result.setting)["power_w"], sum(not trial.meets_slo for trial in result.trials)
    print(f"{name:18}  {len(result.trials):2} trials, {missed} over the SLO: {power_w:.1f} W")


compare("one knob at a time", OneKnobAtATime)
for known in ("grey-box", "random"):
    compare(known, known)
