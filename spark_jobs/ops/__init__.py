"""Ops: the Delta tables with the history of runs, batches, rejected records and checks, and the
views of them.
"""
