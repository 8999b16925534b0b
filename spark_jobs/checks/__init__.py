"""Checks: Great Expectations over the rows of a run and over its state metrics.

May import: analysis, errors, messages, run, spec, table. Imported by: repair, runs.
Never here: what a verdict leads to.
"""
