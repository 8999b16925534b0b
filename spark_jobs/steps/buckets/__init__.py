"""Buckets: many keys of a GroupState as one key of Spark's.

Never here: a step's declaration.
"""
