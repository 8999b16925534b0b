"""Journal: every change of several steps, with one note and one way of going on.

May import: checkpoint, errors, failpoint, root, storage, table. Imported by: admin, overview,
rebuild, repair, runs, sluice_airflow, state.
Never here: what a change does: that is declared beside its command.
"""
