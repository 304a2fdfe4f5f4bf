"""Flags: the types of their values, groups that verbs share, defaults of the user's own."""
