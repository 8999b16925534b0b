"""Rejected: the records of a batch that were not accepted, and its slices, as they are kept in the
ops tables.

May import: checkpoint, decode, ops, source, spec, steps, storage, values. Imported by: repair,
runs.
Never here: whether a batch's counts agree.
"""
