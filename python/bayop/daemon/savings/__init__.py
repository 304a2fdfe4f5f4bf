"""What holding saves: power with its interval by switchbacks, and what that is worth in energy, money and carbon."""
