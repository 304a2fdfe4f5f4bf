"""A day of changing load on a real service: in each hour the default for a part, and `bayop run` for the other."""
