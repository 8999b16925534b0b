"""Journal: every change of several steps, with one note and one way of going on.

May import: checkpoint, errors, storage, table. Imported by: admin, excise, repair, runs,
sluice_airflow.
Never here: what a change does: that is declared beside its command.
"""
