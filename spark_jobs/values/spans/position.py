"""Position: where an output row is on the axis of event time.

Each row has one position, so any cut of the axis puts each row, and each window, into one range.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal, NamedTuple

from spark_jobs.values.spans.any_of import any_of
from spark_jobs.values.spans.span import Span
from spark_jobs.values.times import iso


class Position(NamedTuple):
    """The column that places a row."""

    column: str
    edge: Literal["instant", "end"] = "instant"
    """instant: the column is the position; end: it is a window's end, and the position is the
    window's last instant (Spark's window_time).
    """

    def sql(self, spans: Iterable[Span]) -> str:
        """The SQL condition for rows within the spans, of which there is one at least, for Spark
        and for delta-rs.

        delta-rs compares a timestamp with plain text; it refuses TIMESTAMP '...' and CAST. Its
        queries take a name without quotes for one in small letters.

        >>> from datetime import UTC
        >>> day = Span(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))
        >>> Position("window_end", "end").sql([day])
        "(`window_end` > '2026-01-01T00:00:00Z' AND `window_end` <= '2026-01-02T00:00:00Z')"
        """
        lower, upper = (">=", "<") if self.edge == "instant" else (">", "<=")
        column = f"`{self.column}`"
        return any_of(
            f"({column} {lower} {_literal(span.start)} AND {column} {upper} {_literal(span.end)})"
            for span in spans
        )

    def sql_among(self, values: Iterable[datetime]) -> str:
        """The SQL condition for rows whose column has one of these values, of which there is one
        at least.

        >>> from datetime import UTC
        >>> Position("window_end", "end").sql_among([datetime(2026, 1, 2, tzinfo=UTC)])
        "`window_end` IN ('2026-01-02T00:00:00Z')"
        """
        return f"`{self.column}` IN ({', '.join(map(_literal, values))})"


def _literal(at: datetime) -> str:
    return f"'{iso(at)}Z'"
