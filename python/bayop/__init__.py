"""BayOp finds, on a live server, the interrupt delay and CPU frequency that meet a latency SLO for the least power."""

from importlib.metadata import version

__version__ = version("bayop")
__all__ = ["__version__"]
