"""Sink: the pipeline's Delta table, its commits by batch, and its history.

May import: checkpoint, errors, failpoint, limits, messages, ops, root, run, spans, spec, steps,
table, values. Imported by: admin, audit, repair, runs.
Never here: the published table, or a judgement of rows.
"""
