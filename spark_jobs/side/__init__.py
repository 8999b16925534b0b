"""Side: the port of a table beside the stream: its versions, and the rows of one.

May import: errors, registry, settings, spec, storage, table, values. Imported by: admin,
checkpoint, cli, dataflow, excise, ops, proof, repair, runs, sluice_airflow, steps, upstream.
Never here: which version a batch has; side/pins.py notes it.
"""
