"""What can be told from a spec alone, without Spark and without data."""
