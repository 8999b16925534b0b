"""Checks: Great Expectations over the rows of a run and over its state metrics.

May import: checkpoint, errors, messages, spec, table. Imported by: repair, runs.
Never here: what a verdict leads to.
"""
