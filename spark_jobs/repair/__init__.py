"""Repair: a range of a pipeline's table, computed anew from its records."""
