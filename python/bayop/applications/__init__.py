"""Real services to load and to tune: definitions as data, how they are started, and the packages that bring them."""
