"""Cleaned: a table whose log a clean-up has cut off, as Delta does after logRetentionDuration."""

import time
from pathlib import Path

import deltalake

DEADLINE_SECONDS = 20


def clean_log(path: Path) -> int:
    """Leave only the table's newest version in its log, and return that version."""
    table = deltalake.DeltaTable(path)
    table.alter.set_table_properties({"delta.logRetentionDuration": "interval 0 seconds"})
    table = deltalake.DeltaTable(path)
    table.create_checkpoint()
    kept = {f"{table.version():020}.json"}
    deadline = time.monotonic() + DEADLINE_SECONDS
    while {file.name for file in (path / "_delta_log").glob("*.json")} != kept:
        assert time.monotonic() < deadline, "the log was not cleaned up"
        table.cleanup_metadata()
    return table.version()
