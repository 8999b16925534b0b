"""Catalog: the published tables, where people of an organisation look for tables.

Never here: a row, or a decision by what a catalog says.
"""
