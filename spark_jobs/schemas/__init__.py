"""Schemas: those of a schema registry, asked for once and kept under the root for good.

May import: checkpoint, errors, pinned, root. Imported by: decode, draft, runs.
Never here: bytes of records.
"""
