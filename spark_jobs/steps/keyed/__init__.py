"""Keyed: what the rows of a key are, from the table's rows and from changes. One function says it
for drains, repairs and verifies, whether the driver calls it or Spark's tasks do.
"""
