"""Sluice's Spark side.

A record passes source, decode, classify, steps, sink, audit and checks, in this order.
"""

__version__ = "0.1.0"
