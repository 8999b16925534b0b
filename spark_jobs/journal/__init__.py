"""Journal: every change of several steps, with one note and one way of going on.

May import: any room below. Imported by: any room above.
Never here: what a change does: that is declared beside its command.
"""
