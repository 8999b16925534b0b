"""Watches a run from its side: its progress, and whether it still moves."""
