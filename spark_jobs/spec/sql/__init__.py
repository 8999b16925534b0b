"""Spark SQL in a spec: its types, texts and tokens, and what is refused without a JVM.

Never here: Spark's parser, which steps/sql asks.
"""
