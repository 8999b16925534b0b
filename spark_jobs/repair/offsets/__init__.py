"""Offsets: at which of them the records of a range are, and who still has them. Without Spark.

Never here: what is computed of the records.
"""
