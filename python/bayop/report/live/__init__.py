"""What a live search shows."""
