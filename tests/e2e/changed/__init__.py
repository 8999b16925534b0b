"""Pipelines whose logic is changed: SPEC with NEXT beside it."""
