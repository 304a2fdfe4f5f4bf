"""What `bayop run` shows to a Prometheus: what it counts, how services stand, and the text of both."""
