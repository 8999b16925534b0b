"""Session unit: a range of whole sessions, which replace the rows of their keys that are parts of
them. Such a row may have ended before the range.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from spark_jobs.repair.unit.range_unit import RangeUnit
from spark_jobs.values.spans.span import Span, joined

if TYPE_CHECKING:
    from collections.abc import Iterable


class SessionUnit(RangeUnit):
    """A range too; but what its rows replace is found by their keys."""

    rows: ClassVar = "spark_jobs.repair.unit.session_rows:SessionRows"

    def around(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        before = self.spec.ranges.context or timedelta()
        return joined(span.widened(before, timedelta()) for span in spans)
