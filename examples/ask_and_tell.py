"""A search of one's own: the optimizer is asked and told, and the program measures in whatever way it likes."""

from bayop import Finished, Knob, Measurement, Objective, Observation, Problem, Slo, Space, Steps, make_optimizer

QPS, SLO = 50_000.0, Slo.parse("p99<2ms")


def measure(workers: float, batch: float) -> Measurement:
    """Stands for a service: workers draw power; a bigger batch makes requests cheaper, and has them wait for it."""
    busy = QPS * 1e-6 * (40 + 120 / batch) / workers
    p99_us = 300 + 12 * batch + 400 * busy / max(1 - busy, 0.02)
    return Measurement({"power_w": 45 + 2.5 * workers + 3 * workers * min(busy, 1.0), "p99_us": p99_us})


space = Space(
    (
        Knob("app.workers", Steps(1, 24, 1), safest="high"),
        Knob("app.batch", Steps(1, 64, 1), safest="low"),
    )
)
problem = Problem(space, SLO, Objective.parse("power", SLO), QPS)
optimizer = make_optimizer("grey-box", problem, seed=1)

for trials_left in range(20, 0, -1):
    answer = optimizer.ask(trials_left)
    if isinstance(answer, Finished):
        print(f"done: {answer.reason}")
        break
    workers, batch = (float(answer.setting[knob_id]) for knob_id in space.ids)
    window = measure(workers, batch)
    optimizer.tell(Observation(answer.setting, window, QPS))
    print(f"{workers:2.0f} workers, batch {batch:2.0f}: {window['power_w']:5.1f} W, p99 {window['p99_us']:5.0f} us")

best = optimizer.incumbent()
first = measure(24, 1)["power_w"]
assert best is not None
least = measure(float(best["app.workers"]), float(best["app.batch"]))["power_w"]
print(f"best: {dict(best)}, {least:.1f} W instead of {first:.1f} W")
