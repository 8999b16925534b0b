"""Catalog: the published tables, where people of an organisation look for tables.

May import: errors, root, settings, spec, table. Imported by: cli, runs.
Never here: a row, or a decision by what a catalog says.
"""
