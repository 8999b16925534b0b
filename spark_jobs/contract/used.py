"""Used: the fields of a topic of which a pipeline's steps make anything. Only these become columns.

What is doubtful counts as used: a field too many costs some time, one too few would fail the query.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.contract.spec import Pipeline
    from spark_jobs.contract.topic import Field

Texts = tuple[str, ...] | None
"""Texts in which the names of all used columns stand; None where any column may be used."""

_COUNT_ALL = re.compile(r"\bcount\s*\(\s*\*\s*\)", re.IGNORECASE)
_ALL = re.compile(r"\*\s*(?:[),]|$|except)", re.IGNORECASE)
"""A star that stands for all columns: one that multiplies has an operand behind it."""
_UNSURE = re.compile(r"--|/\*|\|>|select|table|identifier", re.IGNORECASE)
"""May hide a star or a name: a comment, a query, identifier('a' || 'b')."""


def used_fields(spec: Pipeline) -> tuple[Field, ...]:
    """The fields that a step reads, and the event time, in the topic's order; all of them where the
    rows of the topic reach the table, the pipeline's code, or SQL that is a whole query.
    """
    texts: Texts = None
    for step in reversed(spec.steps):
        texts = step.uses(texts)
    if texts is None:
        return spec.topic.fields
    text = " ".join((spec.topic.event_time, *texts)).lower()
    return tuple(field for field in spec.topic.fields if field.name in text)


def with_sql(texts: Texts, expressions: Iterable[str]) -> Texts:
    """The texts and these expressions of Spark SQL."""
    given = tuple(_COUNT_ALL.sub("count(1)", sql) for sql in expressions)
    if texts is None or any(map(_any_column, given)):
        return None
    return (*texts, *given)


def _any_column(sql: str) -> bool:
    # Spark takes some letters beyond ASCII for others: a long s for an s.
    return not sql.isascii() or bool(_ALL.search(sql) or _UNSURE.search(sql))
