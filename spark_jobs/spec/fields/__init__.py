"""Fields: what a record has, where in it each is, and how its text is a value.

Never here: bytes, which decode/ reads.
"""
