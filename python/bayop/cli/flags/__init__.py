"""Flags: the types of their values, and groups that verbs share."""
