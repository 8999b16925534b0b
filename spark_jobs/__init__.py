"""Sluice's Spark side, in the order of a record's way: stages/source, decode, guard, stateful/, stages/sink, audit, checks."""

__version__ = "0.1.0"
