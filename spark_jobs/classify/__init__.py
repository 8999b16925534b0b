"""Classify: the outcome of each record up to the first stateful step, and the capture of those that are rejected."""
