"""Formats beside JSON, as a spec declares them."""
