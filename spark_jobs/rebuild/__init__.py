"""Rebuild: changed logic computed beside the live pipeline, compared, and switched to."""
