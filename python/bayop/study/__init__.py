"""Experiments: what is played on which machines, and the records that they leave."""
