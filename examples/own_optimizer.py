"""An optimizer of one's own, beside BayOp's: who finds the best setting of a published study in how many trials?"""

import bayop

SLO = bayop.Slo.parse("p99<500us")


class OneKnobAtATime:
    """Lowers the frequency until the SLO is missed, then does the same with a longer delay: what people do by hand."""

    def __init__(self, problem: bayop.Problem) -> None:
        self._problem = problem
        self._queue = [("cpu.freq_mhz", mhz) for mhz in range(2900, 1200, -200)]
        self._queue += [("nic.rx_usecs", us) for us in range(50, 401, 50)]
        self._best: bayop.Setting = {"nic.rx_usecs": 2, "cpu.freq_mhz": 2900}

    def ask(self, trials_left: int) -> bayop.Proposal | bayop.Finished:
        """The next value of the knob, with the best of the other."""
        del trials_left
        if not self._queue:
            return bayop.Finished("exhausted")
        knob_id, value = self._queue[0]
        return bayop.Proposal({**self._best, knob_id: value})

    def tell(self, observation: bayop.Observation) -> None:
        """Keeps what meets the SLO; what misses it ends this knob's turn."""
        knob_id, _ = self._queue.pop(0)
        if observation.meets(self._problem.slo):
            self._best = observation.setting
        else:
            self._queue = [step for step in self._queue if step[0] != knob_id]

    def incumbent(self) -> bayop.Setting | None:
        """What would be held now."""
        return self._best

    def predict(self, setting: bayop.Setting) -> None:
        """There is no model to ask."""


for name in ("one knob at a time", "grey-box", "random"):
    server = bayop.study_target("example:memcached", os="linux", qps=600_000, seed=0)
    problem = bayop.Problem(server.space, SLO, bayop.Objective.parse("power", SLO), server.qps)
    mine = name == "one knob at a time"
    optimizer: bayop.Optimizer = OneKnobAtATime(problem) if mine else bayop.make_optimizer(name, problem, seed=0)
    result = bayop.run_search(server, problem, optimizer, max_trials=20)
    assert result.setting is not None
    truth, missed = server.truth(result.setting), sum(not trial.meets_slo for trial in result.trials)
    print(f"{name:18}  {len(result.trials):2} trials, {missed} over the SLO: {truth['power_w']:.1f} W")
