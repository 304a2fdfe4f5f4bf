"""A knob that a script sets, here by writing a service's configuration; it is put back even when a search fails."""

from pathlib import Path
from tempfile import TemporaryDirectory

from bayop import BayopError, Choices, Knob, Measurement, OwnKnobTarget, TwinTarget, tune

with TemporaryDirectory() as folder:
    configuration = Path(folder, "service.conf")
    configuration.write_text("threads = 6\n", encoding="utf-8")
    # The script finds the value in BAYOP_VALUE, and ends when it is in effect: a real one would reload its service.
    script = f"""sh -c 'echo "threads = $BAYOP_VALUE" >{configuration}'"""

    class Broken(TwinTarget):
        """A server whose power meter is lost in the third window."""

        windows = 0

        def measure(self) -> Measurement:
            """The window, and what the service was told before it."""
            self.windows += 1
            text = configuration.read_text(encoding="utf-8").strip()
            print(f"window {self.windows}: {text}")
            if self.windows == 3:
                raise BayopError(wrong="the power meter does not answer")
            return super().measure()

    inner = Broken.from_profile("linux-memcached", qps=200_000, seed=0)
    server = OwnKnobTarget(inner, Knob("app.threads", Choices((2, 4, 8, 16)), safest="high"), script, before=6)
    try:
        tune(server, "p99<500us")
    except BayopError as error:
        print(f"failed: {error}")
    print(f"put back: {configuration.read_text(encoding='utf-8').strip()}")
