"""Runs: a drain's way from the preflight to the report, in the order of drain.py. What goes wrong,
what is judged, watched and published has rooms of its own within.

May import: analysis, audit, catalog, checkpoint, checks, classify, dataflow, decode, errors,
failpoint, fingerprint, journal, launch, limits, log, messages, ops, registry, root, run, schemas,
settings, side, sink, source, spans, spec, state, steps, stopping, storage, table, target, times,
values. Imported by: admin, cli, main, proof, rebuild, repair, sluice_airflow.
Never here: a command, or a range computed again.
"""
