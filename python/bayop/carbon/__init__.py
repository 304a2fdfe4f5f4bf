"""Computational carbon intensity: embodied, operational and network carbon of a server's work."""
