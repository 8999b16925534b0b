"""Canonical: the steps as one computation over all rows at once.

Never here: a stream, or state.
"""
