"""Checkpoint: Spark's logs read without Spark, what Sluice keeps beside them, and the lease of their one writer."""
