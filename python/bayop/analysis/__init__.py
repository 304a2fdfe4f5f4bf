"""What a study shows: fronts, savings, shapes. Pure functions over study tables."""
