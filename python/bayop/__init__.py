"""BayOp finds, on a live server, the interrupt delay and CPU frequency that meet a latency SLO for the least power.

What programs use is here, and docs/library.md shows how::

    >>> import bayop
    >>> server = bayop.TwinTarget.from_profile("linux-memcached", qps=400_000, seed=0)
    >>> result = bayop.tune(server, "p99<500us", max_trials=3)
    >>> [trial.meets_slo for trial in result.trials]
    [True, True, True]

Names are looked up when they are first asked for: `import bayop` alone is quick and loads no library.
"""

TYPE_CHECKING = False  # as a type checker understands it, without the time that importing `typing` takes

# What to search for, and among which settings.
__all__ = ["Choices", "Knob", "Objective", "Problem", "Setting", "Slo", "Space", "Steps"]
# What is tuned.
__all__ += ["Measurement", "OwnKnobTarget", "Target", "TwinTarget", "study_target"]
# A search, and who chooses its trials.
__all__ += ["Finished", "Observation", "Optimizer", "Proposal", "make_optimizer", "run_search", "tune"]
# Tables of trials, and figures of them.
__all__ += ["draw_search", "draw_study", "open_study"]
# What goes wrong, and which BayOp it is.
__all__ += ["BayopError", "__version__"]

__version__: str

if TYPE_CHECKING:
    from bayop.domains import Choices, Steps
    from bayop.errors import BayopError
    from bayop.measurement import Measurement
    from bayop.objective import Objective
    from bayop.optimize import make_optimizer
    from bayop.optimize.base import Finished, Observation, Optimizer, Problem, Proposal
    from bayop.recorded.rows import study_target
    from bayop.report.notebook import draw_search, draw_study
    from bayop.search import run_search, tune
    from bayop.slo import Slo
    from bayop.space import Knob, Setting, Space
    from bayop.study.store import open_study
    from bayop.target.base import Target
    from bayop.target.own_knob import OwnKnobTarget
    from bayop.twin.target import TwinTarget
else:
    _NAMES = {
        "domains": "Choices Steps",
        "errors": "BayopError",
        "measurement": "Measurement",
        "objective": "Objective",
        "optimize": "make_optimizer",
        "optimize.base": "Finished Observation Optimizer Problem Proposal",
        "recorded.rows": "study_target",
        "report.notebook": "draw_search draw_study",
        "search": "run_search tune",
        "slo": "Slo",
        "space": "Knob Setting Space",
        "study.store": "open_study",
        "target.base": "Target",
        "target.own_knob": "OwnKnobTarget",
        "twin.target": "TwinTarget",
    }
    _MODULES = {name: f"bayop.{module}" for module, names in _NAMES.items() for name in names.split()}

    def __getattr__(name: str) -> object:
        """A public name, looked up in its module (PEP 562); or the version, which takes longer than all the rest."""
        if name == "__version__":
            from importlib.metadata import version

            value: object = version("bayop")
        elif name in _MODULES:
            from importlib import import_module

            value = getattr(import_module(_MODULES[name]), name)
        else:
            import sys

            # As the interpreter says it; with the module, it can also guess what was meant.
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=sys.modules[__name__])
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        """The public names, and no module that happens to be loaded."""
        return list(__all__)
