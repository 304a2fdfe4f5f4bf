"""A study as a target: recorded trials answer for the machine."""
