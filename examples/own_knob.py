"""A knob of one's own, set by a function: a service's batch size, searched with delay, frequency and idle depth."""

from bayop import Knob, Measurement, OwnKnobTarget, Steps, TwinTarget, draw_search, tune


class Service(TwinTarget):
    """A service with a knob that the twin does not know: a bigger batch saves work, and requests wait for it."""

    batch = 1.0

    def measure(self) -> Measurement:
        """The twin's window, with what batches do to it."""
        window = super().measure()
        saving, waited_us = 0.12 * (1 - 1 / self.batch), 6.0 * (self.batch - 1)
        changes = {"power_w": window["power_w"] * (1 - saving), "p99_us": window["p99_us"] + waited_us}
        return Measurement({**window.quantities, **changes}, window.relative_sd)


service = Service.from_profile("linux-memcached", qps=400_000, seed=0, knobs=["idle.max_latency_us"])


def set_batch(size: float | str) -> None:
    """Here a program would tell its service."""
    service.batch = float(size)


# `safest` says at which end the service is fastest: a search starts there.
server = OwnKnobTarget(service, Knob("app.batch", Steps(1, 32, 1), safest="low"), set_batch, before=service.batch)
result = tune(server, "p99<500us", max_trials=16)
for trial in result.trials:
    print(f"{trial.number:2}: {dict(trial.setting)}: {trial.measurement['power_w']:.1f} W")
assert result.setting is not None
print(f"found a batch of {result.setting['app.batch']} among {len(server.space.knobs)} knobs")
figure = draw_search(result, server, "p99<500us", knobs=("idle.max_latency_us", "app.batch"))
print(f"drawn over two of them: {figure.axes[0].get_xlabel()}, {figure.axes[0].get_ylabel()}")
server.restore()
print(f"put back: a batch of {service.batch:g}")
