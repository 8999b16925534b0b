"""Files: a folder as a source: which files it has, which are noted, where records are in them.

May import: checkpoint, decode, errors, settings, source, spec, storage, table. Imported by: no
room.
Never here: what a record says.
"""
