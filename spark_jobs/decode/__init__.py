"""Decode: bytes to typed columns. Keeps the raw bytes of records that may be rejected."""
