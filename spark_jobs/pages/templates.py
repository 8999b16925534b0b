"""The templates of the pages and of the report, and how they show values."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, get_args

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from spark_jobs.errors.base import visible
from spark_jobs.messages.stages import told
from spark_jobs.ops.json_of_tables import OTHERS
from spark_jobs.pages.chart import amount, drawn, in_bytes, number
from spark_jobs.pages.charts import by_day
from spark_jobs.pages.flow import SAID, drawing, sums
from spark_jobs.pages.strip import text
from spark_jobs.repair.find.coverage import State
from spark_jobs.spec.duration import approximate
from spark_jobs.values.times import at_seconds, iso

ROWS = 100
"""Of the table behind a chart: of more points it has the newest."""
MOST = 500
"""Characters of a value of others on a page."""


_HERE = Path(__file__).parent
STYLE = _HERE / "sluice.css"
LIBRARY = _HERE / "uplot" / "uPlot.iife.min.js"
"""By npm, at set-up. A page without it says so, and has its tables."""
CHARTS = _HERE / "charts.js"
STYLES = (LIBRARY.with_name("uPlot.min.css"), STYLE)
SCRIPTS = (LIBRARY, CHARTS)


@cache
def environment(*more: Path) -> Environment:
    """Escapes all values, and knows the filters below. Templates are here and in `more`."""
    made = Environment(
        loader=FileSystemLoader([*more, _HERE / "html"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "shown": shown,
        "whole": whole,
        "told": told,
        "ago": ago,
        "instant": text,
        "in_bytes": in_bytes,
        "number": number,
        "figure": figure,
        "breakable": breakable,
        "drawing": drawing,
        "sums": sums,
        "share_of": share_of,
        "amount": amount,
        "drawn": drawn,
        "by_day": by_day,
        "moment": moment,
    }
    made.globals |= {"ROWS": ROWS, "STATES": get_args(State), "SAID": SAID, "OTHERS": OTHERS}
    return made


def share_of(part: int, whole: int) -> str:
    """In per cent; what is there is never nothing, and what lacks never all.

    >>> share_of(1, 3), share_of(1, 10**6), share_of(10**6 - 1, 10**6), share_of(5, 5)
    ('33.3 %', '< 0.1 %', '> 99.9 %', '100 %')
    """
    share = 100 * part / whole
    if part == whole:
        return "100 %"
    least, most = 0.1, 99.9
    if share < least or share > most:
        return f"< {least} %" if share < least else f"> {most} %"
    return f"{share:.1f} %"


def ago(then: datetime, now: datetime) -> str:
    """The time since then, or until then: "3 hours ago", "in 3 hours"."""
    since = now - then
    if since < timedelta():
        return f"in {approximate(-since)}"
    return f"{approximate(since)} ago"


def moment(seconds: float) -> datetime:
    """Of seconds since 1970."""
    return at_seconds(seconds)


def whole(text: str) -> str:
    """An error's text: its end says what mends it."""
    return visible(text, 5 * MOST)


def figure(text: str) -> str:
    """A whole number as the others of its table are written, and any other text as it is.

    >>> figure("8915640"), figure("0.00543"), figure('{"rows": 9}')
    ('8,915,640', '0.00543', '{"rows": 9}')
    """
    return f"{int(text):,}" if text.isascii() and text.isdigit() else text


def breakable(text: str) -> Markup:
    """A long name that a browser may break behind its underscores.

    >>> print(breakable("expect_<b>"))
    expect_<wbr>&lt;b&gt;
    """
    return Markup("_<wbr>").join(escape(part) for part in text.split("_"))


def shown(value: Any) -> str:
    """A value as text on one line, without what could hide or turn it; empty where it is null.

    >>> from datetime import UTC
    >>> shown(12345), shown(None), shown("a\\u202eb"), shown(datetime(2026, 3, 1, 12, tzinfo=UTC))
    ('12,345', '', 'a\\\\u202eb', '2026-03-01 12:00:00')
    """
    match value:
        case None:
            return ""
        case datetime():
            return iso(value, " ", "seconds")
        case bool() | str():
            return visible(str(value), MOST)
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.1f}"
        case _:
            return visible(str(value), MOST)
