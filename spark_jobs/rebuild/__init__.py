"""Rebuild: changed logic computed beside the live pipeline, compared, and switched to.

May import: analysis, checkpoint, errors, fingerprint, journal, messages, ops, registry, repair,
root, runs, settings, source, spans, spec, storage, table, times, values. Imported by: cli,
sluice_airflow.
Never here: a repair, or a drain's own steps.
"""
