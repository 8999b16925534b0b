"""Rebuild: changed logic computed beside the live pipeline, compared, and switched to.

May import: any room below. Imported by: any room above.
Never here: a repair, or a drain's own steps.
"""
