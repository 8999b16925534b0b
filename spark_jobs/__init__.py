"""Sluice's Spark side. A record's way: source, decode, classify, steps, sink, audit, checks. dataflow.py joins the first four."""

__version__ = "0.1.0"
