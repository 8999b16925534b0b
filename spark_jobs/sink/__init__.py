"""Sink: the pipeline's Delta table, its commits by batch, and its history.

May import: any room below. Imported by: any room above.
Never here: the published table, or a judgement of rows.
"""
