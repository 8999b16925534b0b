"""Columns of one field: from texts and numbers to its type, and what its rules refuse."""
