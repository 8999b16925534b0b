"""Decode: bytes to typed columns, and which raw bytes go along for records that may be rejected."""
