"""Audit: the account of each committed batch, which compares the counts of Spark, Kafka and Delta.

May import: checkpoint, dataflow, decode, messages, ops, side, source, spec, state, steps, storage,
table, values. Imported by: repair, runs.
Never here: a change of the rows that it counts.
"""
