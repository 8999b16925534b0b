"""Checkpoint: reads Spark's logs without Spark, keeps Sluice's files beside them, and holds the
lease of their one writer.

May import: errors, messages, registry, settings, source, spec, storage, table. Imported by: any
room above.
Never here: a DataFrame, or a table's rows.
"""
