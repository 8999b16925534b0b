"""The pipelines of bench/archive.py."""
