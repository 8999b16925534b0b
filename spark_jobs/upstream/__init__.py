"""Upstream: a Delta table as a source: which of its rows a drain reads, under which numbers, and
what of them was replaced.

May import: checkpoint, errors, side, source, spec, storage, table, values. Imported
by: no room.
Never here: what a row says.
"""
