"""Answer: what came of a sample in a preview, from the application to whoever started it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from spark_jobs.values.times import iso

FILE: Final = "answer.json"
"""In the preview's folder."""
SAMPLE: Final = "sample.jsonl"
"""Beside it (draft/kept.py)."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rejected(_Part):
    """Records that are malformed or premature for one reason."""

    kind: str
    reason: str
    records: int
    partition: int
    """Of the first of them."""
    offset: int


class Answer(_Part):
    """What a run made of the sample."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    """Some of the table's, with values by `plain`."""
    row_count: int
    counts: dict[str, int]
    """Outcome -> records."""
    rejected: tuple[Rejected, ...]
    late: dict[str, float]
    """Watermark delay -> the share of the records that would be late."""
    state_rows: int
    state_bytes: int
    open_rows: int
    """Those of the rows that are of windows which only more records would close."""
    seconds: float
    """Of the runs, without Spark's start."""


def plain(value: Any) -> Any:
    """A value as JSON has it, to be read by a person."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            return iso(value, " ", "seconds")
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case list():
            return [plain(each) for each in value]
        case dict():
            return {str(name): plain(each) for name, each in value.items()}
        case _:
            return str(value)
