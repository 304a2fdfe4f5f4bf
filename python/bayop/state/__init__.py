"""What `bayop run` remembers: observations, windows, searches and events of every service, in one SQLite file."""
