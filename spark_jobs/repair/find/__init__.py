"""Find: which ranges are computed again, and from which records. Without Spark.

Never here: a change of the table.
"""
