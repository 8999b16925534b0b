"""The table that a spec declares beside its rows."""
