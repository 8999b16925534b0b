"""Spans of event time, and the positions of rows on that axis; for Python, and as SQL."""
