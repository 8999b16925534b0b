"""Since: since when a table is wrong: its states, a search by halves among them, and the cause of
each commit between two that differ. tell.py has the way.

May import: checkpoint, errors, ops, source, spec, storage, table, values, where. Imported by: cli.
Never here: a guess: what was vacuumed, or not asked, is said.
"""
