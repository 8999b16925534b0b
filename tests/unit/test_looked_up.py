"""Which records, and which rows, depend on rows of a table beside the stream: by the spec alone."""

from datetime import timedelta

import pytest

from spark_jobs.spec import Transform
from spark_jobs.spec.analysis.looked_up import looked_up, telling
from spark_jobs.values.spans import Span
from tests.unit.beside import LookUp, Numbered
from tests.unit.marked import DAY
from tests.unit.specs import aggregate, deduplicate, pipeline

HOUR = timedelta(hours=1)
SHOP = {"shop_id": "shop"}
BY = LookUp(tables=(Numbered(name="shops", path="shops"),), by=SHOP)
FILTER, SELECT = Transform(where="amount > 1"), Transform(sql="SELECT *, 1 AS one FROM rows")
NOON = Span(DAY + 12 * HOUR, DAY + 13 * HOUR)
EVER = Span(DAY, DAY + 24 * HOUR)
ROWS = ("amount", "at", "id", "shop")
GROUPS = ("window_start", "window_end", "shop")


@pytest.mark.parametrize(
    ("steps", "entering", "leaving", "records", "tells"),
    [
        ((BY, deduplicate(), aggregate()), SHOP, SHOP, NOON, GROUPS),
        ((deduplicate(), BY, aggregate()), SHOP, SHOP, (10, 15), GROUPS),
        ((deduplicate(), aggregate(), BY), SHOP, SHOP, (10, 15), tuple(sorted(GROUPS))),
        ((BY, FILTER, deduplicate(), aggregate()), SHOP, {}, NOON, GROUPS),
        ((BY, SELECT, deduplicate(), aggregate()), {}, {}, NOON, GROUPS[:2]),
        ((BY, deduplicate(), aggregate(keys=())), SHOP, {}, NOON, GROUPS[:2]),
        ((BY,), SHOP, SHOP, NOON, ROWS),
        ((FILTER, BY), SHOP, SHOP, NOON, ROWS),
    ],
    ids=[
        "first",
        "behind state",
        "behind groups",
        "filter",
        "sql",
        "grouped by none",
        "rows",
        "filtered",
    ],
)
def test_a_key_is_followed_to_the_records_and_to_the_rows(steps, entering, leaving, records, tells):
    spec = pipeline(steps=steps)
    [found] = looked_up(spec, "shops")
    assert (found.entering, found.leaving) == (entering, leaving)
    wanted = records if isinstance(records, Span) else Span(*(DAY + n * HOUR for n in records))
    assert found.records(NOON) == wanted
    assert telling(spec) == tells
    assert looked_up(spec, "carriers") == ()


def test_rows_are_touched_by_the_windows_of_the_times_that_were_read():
    [found] = looked_up(pipeline(steps=(BY, aggregate())), "shops")
    half = Span(NOON.start + HOUR / 2, NOON.end + HOUR / 2)
    assert found.touched(half, EVER) == Span(NOON.start, NOON.end + HOUR)
    assert found.touched(half, Span(DAY, NOON.end)) == NOON
    assert found.touched(half, Span(DAY, NOON.start)).empty
