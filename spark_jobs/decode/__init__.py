"""Decode: bytes to typed columns. Keeps the raw bytes of records that may be rejected.

May import: any room below. Imported by: any room above.
Never here: a broker, or what is done about a bad record.
"""
