"""Offered load over time: the built-in daily curves and recorded traces."""
