"""A target of one's own: a class that applies a setting, measures, and puts back what it found; then it is tuned."""

import random

from bayop import BayopError, Knob, Measurement, Setting, Space, Steps, Target, tune
from bayop.target.base import Modelled


class Pool(Modelled):
    """A pool of threads, which draw power and share the work. `Modelled`: nothing real is at stake."""

    name, description, qps = "pool", "a pool of threads", 20_000.0
    space = Space((Knob("app.threads", Steps(1, 32, 1), safest="high"),))
    quantities = frozenset({"power_w", "p99_us"})

    def __init__(self, *, threads: int, seed: int) -> None:
        self.threads = self.own = float(threads)
        self._random = random.Random(seed)

    def apply(self, setting: Setting) -> Setting:
        """A setting that is none of the space's is refused here."""
        in_effect = self.space.check(setting)
        self.threads = float(in_effect["app.threads"])
        return in_effect

    def measure(self) -> Measurement:
        """Each number scatters by 1 %, and says so: the search weighs it by that."""
        noise = {"power_w": 0.01, "p99_us": 0.01}
        means = {"power_w": 40.0 + 2.0 * self.threads, "p99_us": 80.0 + 4000.0 / self.threads}
        return Measurement({k: v * self._random.gauss(1.0, noise[k]) for k, v in means.items()}, relative_sd=noise)

    def baseline(self) -> None:
        """Not known without applying something."""

    def restore(self) -> None:
        """As many threads as there were."""
        self.threads = self.own


pool: Target = (own := Pool(threads=16, seed=0))
result = tune(pool, "p99<900us")
print(f"{len(result.trials)} trials, {result.stopped}; found {result.setting and dict(result.setting)}")
pool.restore()
print(f"put back: {own.threads:g} threads")
try:
    pool.apply({"app.threads": 33})
except BayopError as error:
    print(f"refused: {error}")
