"""Repair: recomputed ranges of a pipeline's table, from the staged rows to the table and back."""
