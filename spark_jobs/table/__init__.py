"""Table: the port of the table that a pipeline writes, and what is asked of its history.

May import: errors, failpoint, registry, root, spans, spec, storage, times, values. Imported by: any
room above.
Never here: what a batch, a repair or a verdict is.
"""
