"""Beside: steps that find rows in a table beside the stream."""
