"""Fates that a step's own Deduplicate, or a repair behind the batch, leaves open."""

from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions
from spark_jobs.values.numbering import numbered_in
from spark_jobs.where.again import Reader
from spark_jobs.where.ask import Seen
from spark_jobs.where.fate import Became, Fate
from spark_jobs.where.kept import Kept
from spark_jobs.where.outcome import Outcomes
from tests.unit.specs import pipeline
from tests.unit.test_join import BY_ORDER, paid

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
HERE, THERE = Place(0, 0), Place(0, 7)
ROW = Seen(0, {"at": int(AT.timestamp() * 1_000_000)})


def fate_of(spec, kept, *repairs, place=HERE):
    reader = Reader(spec, None, None, None, None, "", {})
    outcomes = Outcomes(reader, Kept(None, {}, {}, {}, [*repairs]), {})
    return outcomes.entered(Fate(place, Became.ACCEPTED), ROW, kept)


def repaired(state, horizon=100):
    hours = {"start": AT - timedelta(hours=1), "end": AT + timedelta(hours=2)}
    return {
        "kind": "repair", "repair_id": "r1", "state": state,
        "horizon": Positions({0: horizon}).json, "ranges": [hours],
    }  # fmt: skip


def test_a_record_that_a_joins_own_deduplicate_may_have_dropped_is_not_told_as_accepted():
    payment = Place(numbered_in(1, 0), 0)
    assert fate_of(paid(before=BY_ORDER), None, place=payment).became == "accepted or duplicate"
    assert fate_of(paid(before=BY_ORDER), None).became == "accepted", "an order"
    assert fate_of(paid(), None, place=payment).became == "accepted"


@pytest.mark.parametrize(
    ("repairs", "open_"),
    [((), 0), ((repaired("canonical"),), 0), ((repaired("undone"),), 0), ((repaired("swapped"),), 1),
     ((repaired("swapped", horizon=0),), 0)],
    ids=["none", "found as they were", "undone", "changed", "of records before it"],
)  # fmt: skip
def test_a_copy_may_be_in_the_rows_once_a_repair_has_changed_them(repairs, open_):
    """An excision takes out the copy that was kept, and a repair keeps the other one."""
    found = fate_of(pipeline(), {THERE}, *repairs)
    assert (found.became, found.copies) == ("duplicate", (THERE,))
    assert sum("in place of" in each for each in found.untold) == open_
