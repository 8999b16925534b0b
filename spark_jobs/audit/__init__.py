"""Audit: the account of each committed batch, which compares the counts of Spark, Kafka and Delta.

May import: any room below. Imported by: repair, runs.
Never here: a change of the rows that it counts.
"""
