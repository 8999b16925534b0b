"""The steps as one computation over all rows at once: their canonical result."""
