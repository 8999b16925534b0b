"""Formats of text, and values that are compressed."""
