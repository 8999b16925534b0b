"""Ops: the Delta tables with the history of runs, batches, rejected records and checks, and the
views of them.

May import: analysis, checkpoint, errors, messages, registry, root, source, spans, storage, table,
times, values. Imported by: admin, audit, cli, decode, overview, pages, proof, rebuild, repair,
runs, sink, sluice_airflow, steps.
Never here: a decision by what they say.
"""
