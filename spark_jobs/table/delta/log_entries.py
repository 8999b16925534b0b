"""Log entries: what each commit of a table says of itself, newest first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spark_jobs.table.delta.delta_log import COMMIT
from spark_jobs.table.delta.log_files import LogFiles

if TYPE_CHECKING:
    from upath import UPath

Entry = dict[str, Any]
"""A commit's `commitInfo`, and its `version`."""
SAID = "commitInfo"


def entries(table: UPath) -> Iterator[Entry]:
    """All of them, read one by one as they are asked for: the table of a month has thousands.

    delta-rs has the same (`history`), and keeps the interpreter's lock while it reads.
    """
    files = LogFiles(table)
    found = (COMMIT.fullmatch(name) for name in files.names())
    for version in sorted((int(match[1]) for match in found if match), reverse=True):
        text = files.content(f"{version:020d}.json")
        if text is None:  # the log was cleaned up meanwhile, from its oldest commit on
            return
        yield _said(text) | {"version": version}


def _said(text: bytes) -> Entry:
    """Only the line that has it is parsed: a commit may add thousands of files."""
    for line in text.splitlines():
        if SAID.encode() in line and SAID in (action := json.loads(line)):
            said: Entry = action[SAID]
            return said
    return {"operation": ""}
