"""Ops: the Delta tables with the history of runs, batches, rejected records and checks, and the
views of them.

May import: checkpoint, errors, messages, registry, source, spec, storage, table, values. Imported
by: admin, audit, cli, decode, pages, proof, prove, repair, runs, sink, sluice_airflow, steps.
Never here: a decision by what they say.
"""
