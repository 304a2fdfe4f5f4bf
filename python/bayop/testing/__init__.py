"""For tests, ours and those of plug-ins: contract suites that every optimizer and target passes, and small fakes.

Nothing else in BayOp imports this package, and it needs pytest.
"""
