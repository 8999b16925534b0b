"""Notes: what Sluice keeps as JSON beside a checkpoint, one file each.

Never here: Spark's own files.
"""
