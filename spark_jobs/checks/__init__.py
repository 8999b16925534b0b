"""Checks: Great Expectations over the rows of a run and over its state metrics."""
