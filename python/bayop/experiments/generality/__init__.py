"""Services of microseconds to seconds on machines that differ, each searched at two loads, on the twin."""
