"""Sink: the pipeline's Delta table, its commits by batch, and its history.

May import: checkpoint, errors, ops, spec, steps, storage, table, values. Imported by: admin,
repair, runs.
Never here: the published table, or a judgement of rows.
"""
