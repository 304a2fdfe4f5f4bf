"""BayOp finds, on a live server, the interrupt delay and CPU frequency that meet a latency SLO for the least power."""

__all__ = ["__version__"]

__version__: str


def __getattr__(name: str) -> str:
    """The version, looked up when it is asked for: that takes longer than all the rest of `import bayop`."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version("bayop")
