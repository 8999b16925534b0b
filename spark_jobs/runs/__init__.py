"""Runs: what a run does from the preflight to the report. drain.py has the order."""
