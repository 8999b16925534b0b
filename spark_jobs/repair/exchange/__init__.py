"""Exchange: staged rows take the place of the table's in one commit, and an undo takes that back.
Without Spark.

Never here: a computation of rows.
"""
