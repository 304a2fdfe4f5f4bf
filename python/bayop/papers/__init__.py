"""What the papers say, held against their data and the twin."""
