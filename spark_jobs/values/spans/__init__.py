"""Spans of event time, and the positions of rows on that axis: for Python, and as SQL.

Never here: a record, a clock, or what a spec declares.
"""
