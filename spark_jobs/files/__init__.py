"""Files: a folder as a source: which files it has, which are noted, where records are in them.

May import: checkpoint, decode, errors, messages, settings, source, spec, storage, table, values.
Imported by: no room.
Never here: what a record says.
"""
