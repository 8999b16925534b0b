"""Schemas: those of a schema registry, asked for once and kept under the root for good.

Never here: bytes of records.
"""
