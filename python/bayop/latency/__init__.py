"""Where a live machine's latency comes from. A source stands beside the others and is known by its own flag."""
