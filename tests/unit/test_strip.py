"""The coverage strip: neighbours that are alike are one segment, and each that waits is its own."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

from spark_jobs.messages.request import Request
from spark_jobs.pages.strip import WIDTH, segments, text
from spark_jobs.pages.templates import STYLE, environment
from spark_jobs.repair.find.coverage import Coverage, Interval, State
from spark_jobs.repair.find.ranges_due import Balance

DAY = datetime(2026, 3, 1, tzinfo=UTC)
BALANCE = Balance(late=0, merged=0, duplicates=0, filtered=0, waiting=0, off=0)


def covered(*states: Any) -> Coverage:
    intervals = tuple(
        Interval(
            start=DAY + timedelta(days=place),
            end=DAY + timedelta(days=place + 1),
            state=state,
            late=int(state == "late"),
            repair_id=None,
            kind=None,
            at=None,
            who=None,
        )
        for place, state in enumerate(states)
    )
    return Coverage(
        pipeline="p", batch=1, until=DAY, intervals=intervals, left_out=0, balance=BALANCE
    )


def test_neighbours_that_are_alike_are_one_segment_and_two_days_that_wait_are_two():
    found = segments(covered("canonical", "canonical", "late", "late", "open"))
    assert [(each.state, each.intervals) for each in found] == [
        ("canonical", 2),
        ("late", 1),
        ("late", 1),
        ("open", 1),
    ]
    assert [round(each.x) for each in found] == [0, 360, 540, 720]
    assert found[-1].x + found[-1].width <= WIDTH
    assert [each.repairable for each in found] == [False, True, True, False]


def test_what_the_form_is_filled_in_with_is_a_request():
    for state, kind in (("late", "repair"), ("replayable", "replay")):
        [found] = segments(covered(state))
        asked = Request(kind=found.kind, start=text(found.start), end=text(found.end))
        assert (asked.kind, asked.start, asked.end) == (kind, DAY, DAY + timedelta(days=1))


def test_every_state_of_an_interval_has_a_colour():
    style = STYLE.read_text()
    for state in get_args(State):
        assert re.search(rf"\.{state}\b[^{{}}]*{{ --kind: ", style)


def test_no_interval_has_no_segment():
    assert segments(covered()) == []


def test_a_day_has_its_proof_and_until_when_it_is_provable_or_why_nobody_can_tell():
    found = covered("canonical", "canonical", "canonical")
    first, second, third = found.intervals
    told = {"proved_at": DAY + timedelta(days=9), "provable_until": DAY + timedelta(days=30)}
    days = (first.model_copy(update=told), second.model_copy(update={"untold": True}), third)
    found = found.model_copy(update={"intervals": days, "untold": "Kafka compacts topic sales"})
    parts = segments(found)
    assert len(parts) == 3, "they are not alike"
    page = environment().get_template("strip.html")
    empty = {"base": None, "form": None, "unasked": ""}
    html = page.render(covered=found, segments=parts, pipeline="p", **empty)
    assert "<br>provable until 2026-03-31" in html
    assert "cannot be told: Kafka compacts topic sales." in html
