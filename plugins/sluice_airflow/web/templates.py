"""The templates of the pages, and how they show values."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from spark_jobs.contract.visible import visible

MOST = 500
"""Characters of a value of others on a page."""


@cache
def environment() -> Environment:
    """Escapes all values, and knows the filters below."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"shown": shown}
    return made


def shown(value: Any) -> str:
    """A value as text on one line, without what could hide or turn it; empty where it is null.

    >>> shown(12345), shown(None), shown("a\\u202eb"), shown(datetime(2026, 3, 1, 12, tzinfo=UTC))
    ('12,345', '', 'a\\\\u202eb', '2026-03-01 12:00:00')
    """
    match value:
        case None:
            return ""
        case datetime():
            return f"{value.astimezone(UTC):%F %T}"
        case bool() | str():
            return visible(str(value), MOST)
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.1f}"
        case _:
            return visible(str(value), MOST)
