"""What becomes of late records: each has a fate once all rows that it lacks in are computed."""

from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.analysis.ranged import ranged
from spark_jobs.repair.find.late import LateRecord
from spark_jobs.repair.unit.range_rows import fates
from spark_jobs.spans.span import MICROSECOND, Span
from spark_jobs.spec import Aggregate, Pipeline, Tumbling
from spark_jobs.topics.flights import FLIGHTS
from tests.harness import roots

DAY = datetime(2026, 3, 4, tzinfo=UTC)
"""A Wednesday: the windows of a week, counted from the epoch, end on Thursdays."""
WEEKLY = ranged(
    Pipeline(
        name="weekly",
        about="a test",
        topic=FLIGHTS,
        watermark_delay=timedelta(hours=2),
        steps=(Aggregate(window=Tumbling(size=timedelta(days=7)), measures={"n": "count(*)"}),),
    )
)
LATE = LateRecord(0, 7, DAY - timedelta(days=3), DAY + timedelta(days=9))


@pytest.mark.parametrize(
    ("span", "computed"),
    [
        (Span(DAY, DAY + timedelta(days=1)), True),
        (Span(DAY + timedelta(days=1) - MICROSECOND, DAY + timedelta(days=1)), True),
        (Span(DAY - timedelta(days=6), DAY), False),
        (Span(DAY + timedelta(days=1), DAY + timedelta(days=2)), False),
    ],
)
def test_the_day_on_which_a_week_ends_has_the_row_of_its_late_records(span, computed):
    of_this = {"spans": (span,), "needed": (WEEKLY.needed(span),), "batch": 1, "late": 1}
    of_this |= {"kind": "backfill", "horizon": {0: 9}, "until": DAY + timedelta(days=9)}
    found = fates(WEEKLY, roots.repair_plan("weekly", **of_this), [LATE], {(0, 7)}, {(0, 7)})
    assert [each.fate for each in found] == (["merged"] if computed else [])
