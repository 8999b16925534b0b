"""Table: the port of the table that a pipeline writes, and what is asked of its history.

May import: errors, registry, settings, spec, storage, values. Imported by: any room above.
Never here: what a batch, a repair or a verdict is.
"""
