"""Repair: ranges of a table computed again from their records. find/ and offsets/ plan it,
compute/ stages its rows, exchange/ swaps them in.

May import: any room below. Imported by: any room above.
Never here: the live checkpoint's state, which a repair never touches.
"""
