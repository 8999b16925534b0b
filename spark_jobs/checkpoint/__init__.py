"""Checkpoint: reads Spark's logs without Spark, keeps Sluice's files beside them, and holds the
lease of their one writer.
"""
