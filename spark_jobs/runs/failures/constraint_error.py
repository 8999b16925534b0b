"""Constraint error: the table has a constraint, and a row that the query writes breaks it."""

from __future__ import annotations

import re
from typing import Final

from spark_jobs.errors import RowRefused
from spark_jobs.errors.base import visible
from spark_jobs.settings.installation import record_bytes

_CHECK = re.compile(
    r"\[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES\] CHECK constraint (?P<name>\S+) (?P<rule>.+?) "
    r"violated by row with values:(?P<row>(?:\s* - [^\n]+)*)"
)
_NULL = re.compile(
    r"\[DELTA_NOT_NULL_CONSTRAINT_VIOLATED\] NOT NULL constraint violated for column: (?P<name>\S+)"
)
_VALUE = re.compile(r" - (?P<column>[^\n]+?) : (?P<value>[^\n]*)")
MOST: Final = 200
"""Characters of a value."""


def constraint_error(text: str, pipeline: str) -> RowRefused | None:
    """From the text of Spark's error; None if it is of another kind. Of the row's values only the
    columns, unless bytes of records may be shown.
    """
    if found := _CHECK.search(text):
        what = f"CHECK constraint {found['name']} {found['rule']}"
        values = [(each["column"], each["value"]) for each in _VALUE.finditer(found["row"])]
    elif found := _NULL.search(text):
        what, values = "NOT NULL", [(found["name"].rstrip("."), "null")]
    else:
        return None
    shown = record_bytes()
    row = ", ".join(
        f"{visible(column, MOST)} {visible(value, MOST)}" if shown else visible(column, MOST)
        for column, value in values
    )
    hidden = "" if shown else " (their values: SLUICE_RECORD_BYTES=shown)"
    return RowRefused.constraint_broken(
        pipeline=pipeline,
        constraint=visible(what, MOST),
        row=row,
        hidden=hidden,
    )
