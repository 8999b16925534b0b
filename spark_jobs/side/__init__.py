"""Side: the port of a table beside the stream: its versions, and the rows of one.

May import: checkpoint, errors, registry, settings, spec, storage, table, values. Imported by:
admin, cli, dataflow, proof, repair, runs, sluice_airflow, steps, upstream, where.
Never here: which version a batch has; checkpoint/notes/noted_versions.py notes it.
"""
