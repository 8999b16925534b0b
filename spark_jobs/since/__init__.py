"""Since: since when a table is wrong: its states, a search by halves among them, the cause of each
commit between two that differ, and the records that made it. tell.py has the way.

May import: checkpoint, dataflow, errors, launch, messages, ops, repair, settings, source, spec,
steps, storage, table, values, where. Imported by: cli, main.
Never here: a guess: what was vacuumed, or not asked, is said.
"""
