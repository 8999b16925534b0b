"""Prove: which published days are proved, whether a commit has changed them since, and what the
next night verifies within its budget.

May import: checkpoint, errors, messages, ops, repair, settings, source, spec, storage, table,
values. Imported by: cli, sluice_airflow.
Never here: how a range is verified, which is repair's.
"""
