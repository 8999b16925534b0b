"""Units of a repair: a range, a range of whole sessions, keys. One place asks which one there is.
Of a range: each late record has a fate once all rows that it lacks in are computed.
"""

import ast
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_jobs import repair
from spark_jobs.repair.find.late import LateRecord
from spark_jobs.repair.unit.range_rows import fates
from spark_jobs.repair.unit.unit import unit_of
from spark_jobs.source.place import Place
from spark_jobs.spec import Aggregate, Pipeline, Tumbling
from spark_jobs.spec.analysis.ranged import ranged
from spark_jobs.topics.flights import FLIGHTS
from spark_jobs.values.spans import EVER, MICROSECOND, Span
from tests.harness import roots
from tests.unit.repaired import DAY, SPEC
from tests.unit.test_latest import LATEST, spec
from tests.unit.test_session_ranges import LONGEST, counts, sessions

REPAIR = Path(repair.__file__).parent
WEEK = Span(DAY, DAY + timedelta(days=7))
WHICH = {"keyed", "sessions", "RangeUnit", "SessionUnit", "KeyUnit"}
SPECS = {"RangeUnit": SPEC, "SessionUnit": sessions(), "KeyUnit": spec(LATEST)}


def asking(path):
    """The names of a file that tell which unit there is."""
    named = (
        getattr(node, "attr", getattr(node, "id", None))
        for node in ast.walk(ast.parse(path.read_text()))
    )
    return WHICH & {*named}


def test_what_plans_stages_swaps_and_undoes_does_not_know_which_unit_there_is():
    outside = [path for path in REPAIR.rglob("*.py") if path.parent.name != "unit"]
    assert {path.name for path in outside} >= {"planner.py", "stage.py", "comparison.py", "swap.py"}
    assert {path.name: found for path in outside if (found := asking(path))} == {}
    assert asking(REPAIR / "unit" / "unit.py") == WHICH


@pytest.mark.parametrize("name", SPECS)
def test_a_spec_has_its_unit_whose_rows_replace_themselves_or_parts_of_sessions_before(name):
    unit = unit_of(SPECS[name])
    assert type(unit).__name__ == name
    assert unit.unranged is None
    spans = EVER if name == "KeyUnit" else (WEEK,)
    before = LONGEST if name == "SessionUnit" else timedelta()
    assert unit.around(spans) == tuple(span.widened(before, timedelta()) for span in spans)


def test_a_spec_whose_ranges_are_gone_has_a_unit_that_says_why():
    unit = unit_of(sessions(counts(), output_mode="complete", state={"budget_rows": 9}))
    assert "complete mode" in (unit.unranged or "")


WEDNESDAY = datetime(2026, 3, 4, tzinfo=UTC)
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
LATE = LateRecord(Place(0, 7), WEDNESDAY - timedelta(days=3), WEDNESDAY + timedelta(days=9))


@pytest.mark.parametrize(
    ("span", "computed"),
    [
        (Span(WEDNESDAY, WEDNESDAY + timedelta(days=1)), True),
        (Span(WEDNESDAY + timedelta(days=1) - MICROSECOND, WEDNESDAY + timedelta(days=1)), True),
        (Span(WEDNESDAY - timedelta(days=6), WEDNESDAY), False),
        (Span(WEDNESDAY + timedelta(days=1), WEDNESDAY + timedelta(days=2)), False),
    ],
)
def test_the_day_on_which_a_week_ends_has_the_row_of_its_late_records(span, computed):
    of_this = {"spans": (span,), "needed": (WEEKLY.needed(span),), "batch": 1, "late": 1}
    of_this |= {"kind": "backfill", "horizon": {0: 9}, "until": WEDNESDAY + timedelta(days=9)}
    found = fates(
        WEEKLY, roots.repair_plan("weekly", **of_this), [LATE], {Place(0, 7)}, {Place(0, 7)}
    )
    assert [each.fate for each in found] == (["merged"] if computed else [])
