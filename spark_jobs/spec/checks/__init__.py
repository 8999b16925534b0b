"""Checks as declarations: over records, over rows, over state, and over time.

Never here: their evaluation, which is in checks.py and runs/evaluation.py.
"""
