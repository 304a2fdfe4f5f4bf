"""Telling somebody else, by HTTP, what has happened."""
