"""Runs: a drain's way from the preflight to the report, in the order of drain.py. What goes wrong,
what is judged, watched and published has rooms of its own within.

May import: any room below. Imported by: any room above.
Never here: a command, or a range computed again.
"""
