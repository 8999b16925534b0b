"""Classify: the outcome of each record, up to the first stateful step. Captures rejected records.

May import: any room below. Imported by: any room above.
Never here: the storing of rejected records, which audit does.
"""
