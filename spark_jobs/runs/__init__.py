"""Runs: a drain's way from the preflight to the report, in the order of drain.py. What goes wrong,
what is judged, watched and published has rooms of its own within.

May import: audit, checkpoint, checks, dataflow, decode, errors, journal, launch, messages, ops,
registry, rejected, settings, side, sink, source, spec, state, steps, storage, table, values.
Imported by: admin, cli, excise, main, proof, repair, sluice_airflow.
Never here: a command, or a range computed again.
"""
