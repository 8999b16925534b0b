"""Admin: commands that change what runs have written, one file a command. Each shows its changes
first, and makes them with --execute.

May import: any room below. Imported by: any room above.
Never here: a command's words and options, which cli has.
"""
