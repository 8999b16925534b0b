"""Classify: the outcome of each record, up to the first stateful step. Captures rejected records.

Never here: the storing of rejected records, which audit does.
"""
