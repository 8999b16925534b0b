"""Compute: the rows of a plan, compared with the table's and staged beside it. With Spark.

Never here: a change of the table.
"""
