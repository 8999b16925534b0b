"""Finds which ranges are computed again, and from which records; without Spark."""
