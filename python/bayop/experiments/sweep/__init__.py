"""Sweeps: every setting of a design, measured on a target, as often as is asked for."""
