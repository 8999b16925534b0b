"""Rebuild: changed logic computed beside the live pipeline, compared, and switched to.

Never here: a repair, or a drain's own steps.
"""
