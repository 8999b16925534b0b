"""Classify: the outcome of each record, up to the first stateful step. Captures rejected records.

May import: decode, spec, steps, values. Imported by: audit, dataflow, repair, runs.
Never here: the storing of rejected records, which audit does.
"""
