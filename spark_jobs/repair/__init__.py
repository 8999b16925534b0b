"""Repair: ranges of a pipeline's table, computed again from their records and swapped in."""
