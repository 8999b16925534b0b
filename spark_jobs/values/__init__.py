"""Values of records: the types of fields, what each engine makes of them, and the names of
Sluice's own columns. Python workers load it anew, so it stays light.

May import: no room. Imported by: any room above.
Never here: pydantic, or a whole spec.
"""
