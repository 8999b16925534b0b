"""Failures: what made a query fail, in words, and which records did.

Never here: what is done about it.
"""
