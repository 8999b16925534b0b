"""Told: what a person is told of a run, in lines: before it, and behind it."""
