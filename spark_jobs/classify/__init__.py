"""Classify: the outcome of each record, up to the first stateful step.

Captures rejected records.
"""
