"""Ops: the Delta tables with the history of runs, batches, rejected records and checks, and the
views of them.

May import: checkpoint, errors, messages, registry, source, storage, table, values. Imported by: any
room above.
Never here: a decision by what they say.
"""
