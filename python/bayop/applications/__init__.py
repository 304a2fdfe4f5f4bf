"""Real services to tune, as data: what each needs, how it starts and how it is loaded."""
