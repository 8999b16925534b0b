"""Admin: commands that change what runs have written, one file a command. Each shows its changes
first, and makes them with --execute.

May import: checkpoint, errors, journal, messages, ops, registry, repair, runs, settings, side,
sink, source, spec, storage, table, values. Imported by: cli, proof, sluice_airflow.
Never here: a command's words and options, which cli has.
"""
