"""Judges the rows and the state of a run, by its checks."""
