"""What studies show."""
