"""Pipelines of the end-to-end tests, for SLUICE_PIPELINES."""
