"""Sluice's Spark side. In the order of a record's way: source, decode, classify, steps, sink, audit, checks; dataflow.py joins them."""

__version__ = "0.1.0"
