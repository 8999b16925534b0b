"""The pipelines of bench/repairs.py."""
