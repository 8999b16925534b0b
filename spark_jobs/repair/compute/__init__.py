"""Computes the rows of a plan, and stages them beside the table; with Spark."""
