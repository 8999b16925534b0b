"""The formats of `sluice show`: a table for people, JSON and CSV for programs."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from math import inf, isfinite
from typing import Any

from spark_jobs.cli.layout import Column, Layout, cell, lay_out
from spark_jobs.ops.views import Rows
from spark_jobs.values.times import in_utc

LONGEST = 1000
"""Characters of one text that a terminal shows at most. A record may have a megabyte."""


class Format(StrEnum):
    """How rows are printed."""

    table = "table"
    json = "json"
    csv = "csv"


def as_table(rows: Rows, width: int | None, now: datetime, *, chosen: bool) -> Layout:
    """The rows as lines of at most `width` cells. None: lines of any width, texts of any length."""
    columns = []
    for place, name in enumerate(rows.names):
        values = [row[place] for row in rows.values]
        texts = (cell(name, value, now) for value in values)
        number = any(isinstance(v, int | float) for v in values) and all(
            isinstance(v, int | float | None) for v in values
        )
        columns.append(
            Column(name, tuple(texts if width is None else map(shortened, texts)), number)
        )
    return lay_out(columns, width, chosen=chosen)


def shortened(text: str) -> str:
    """A text that is too long for a terminal, cut at LONGEST, with the number of characters that
    are left out.
    """
    more = len(text) - LONGEST
    return (
        text if more <= 0 else f"{text[:LONGEST]} ({more:,} more characters: --format json has all)"
    )


def as_json(rows: Rows) -> Iterator[str]:
    """One JSON object a line. Times are ISO 8601 in UTC, numbers are numbers, null is null."""
    for values in rows.values:
        yield json.dumps(dict(zip(rows.names, map(plain, values), strict=True)))


def as_csv(rows: Rows) -> Iterator[str]:
    """A header and one record a row, with values as in JSON. Null is an empty field."""
    yield _record(rows.names)
    for values in rows.values:
        yield _record(
            [
                json.dumps(value) if isinstance(value, dict | list) else value
                for value in map(plain, values)
            ]
        )


def exact(value: Any) -> Any:
    """A value of a record or a row with its doubles as they are: the ops tables' are rounded."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return [exact(each) for each in value]
    if isinstance(value, dict):
        return {name: exact(each) for name, each in value.items()}
    return value


def plain(value: Any) -> Any:
    """A value as JSON has it. Bytes are text where they are UTF-8, otherwise {"base64": "..."};
    days, decimals and what is no finite number are texts; of a map the pairs.
    """
    if isinstance(value, date | Decimal) or (isinstance(value, float) and not isfinite(value)):
        return _text(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value


def _text(value: date | Decimal | float) -> str:
    if isinstance(value, float):
        return {inf: "Infinity", -inf: "-Infinity"}.get(value, "NaN")
    if not isinstance(value, datetime):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    at = in_utc(value)
    return at if isinstance(at, str) else at.isoformat().replace("+00:00", "Z")


def _record(fields: Any) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()
