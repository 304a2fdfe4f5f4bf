"""What a day of changing load shows."""
