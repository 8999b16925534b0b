"""Repair: ranges of a pipeline's output, computed again from the records that they depend on."""
