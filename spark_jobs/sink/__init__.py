"""Sink: the pipeline's Delta table, its commits by batch, and its history.

May import: checkpoint, errors, failpoint, limits, messages, ops, registry, root, run, spans, spec,
steps, storage, table, values. Imported by: admin, audit, published, rebuild, repair, runs.
Never here: the published table, or a judgement of rows.
"""
