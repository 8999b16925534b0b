"""Sink: the Delta table, its commits by batch, and its history."""
