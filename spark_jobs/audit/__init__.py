"""Audit: the account of a committed batch, which compares the counts of Spark, Kafka and Delta.

May import: messages, ops, source, spec, state, steps, table, values. Imported by: runs.
Never here: a change of the rows that it counts, or which batch is next.
"""
