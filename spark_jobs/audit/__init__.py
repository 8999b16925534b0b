"""Audit: the account of each committed batch, which compares the counts of Spark, Kafka
and Delta.
"""
