"""What the verifier sees in the events of a pipeline: a batch that is in two of them, or in none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.announced import Announced, announced

BATCHES = [
    {"table_version": version, "read": 10, "rows_out": rows}
    for version, rows in ((1, 9), (2, 8), (None, 0), (4, 7), (None, 0))
]
"""The third and the last wrote nothing."""


def event(before: int | None, version: int, read: int, rows: int) -> dict[str, Any]:
    return {
        "generation": "g",
        "table_version_before": before,
        "table_version": version,
        "account": {"read": read, "rows_out": rows},
    }


FIRST, SECOND, THIRD = event(None, 1, 10, 9), event(1, 2, 20, 8), event(2, 4, 10, 7)


def wrong(*events: dict[str, Any]) -> Announced:
    numbered = [{**event, "number": number} for number, event in enumerate(events, 1)]
    return announced(numbered, BATCHES)


def test_a_number_that_is_missing_is_told() -> None:
    events = [{**event, "number": number} for event, number in ((FIRST, 1), (SECOND, 3))]
    assert announced(events, BATCHES).told[0] == "the events have the numbers [1, 3]"


def test_events_that_go_on_from_each_other_are_exact_and_what_wrote_nothing_may_wait() -> None:
    assert wrong(FIRST, SECOND, THIRD) == Announced(0, 0, (), BATCHES[4:])
    later = event(2, 4, 20, 7)
    assert wrong(FIRST, event(1, 2, 10, 8), later).left == BATCHES[4:]
    assert wrong(FIRST, SECOND, event(2, 4, 20, 7)).left == []
    assert wrong(event(None, 4, 40, 24)).told == ()


@pytest.mark.parametrize(
    ("events", "twice", "never", "said"),
    [
        ((FIRST, FIRST, SECOND, THIRD), 1, 0, "version 1 of generation g was told 2 times"),
        ((FIRST, THIRD), 0, 1, "begins after version 2, and the one before it ended at 1"),
        ((FIRST, SECOND), 0, 1, "0 batches are in more than one event, 1 in none"),
        ((FIRST, event(None, 2, 30, 17), THIRD), 1, 0, "begins after version None"),
        ((FIRST, event(1, 2, 19, 8), THIRD), 0, 0, "the account in the event of version 2 is not"),
        ((), 0, 3, "3 in none"),
    ],
)
def test_an_event_that_was_repeated_left_out_or_counts_otherwise_is_told(
    events, twice, never, said
):
    found = wrong(*events)
    assert (found.twice, found.never) == (twice, never)
    assert any(said in sentence for sentence in found.told), found.told
