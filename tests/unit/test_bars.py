"""The charts of the views: what a bar's height and its parts say."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from sluice_airflow.web.bars import HEIGHT, account_bars, outcomes
from spark_jobs.contract.visible import visible
from spark_jobs.ops.shown import RunLine

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
COUNT = st.integers(0, 10**9)


def run(accepted: int, duplicates: int, late: int, malformed: int, premature: int) -> RunLine:
    return RunLine(
        pipeline="p",
        run_id="r",
        kind="drain",
        status="succeeded",
        problem=None,
        started_at=NOON,
        ended_at=NOON,
        query_seconds=None,
        read=accepted + duplicates + late + malformed + premature,
        rows_out=0,
        duplicates=duplicates,
        late=late,
        malformed=malformed,
        premature=premature,
        unaccounted=0,
        state_rows=None,
        watermark=None,
        table_version=None,
    )


@given(st.lists(st.tuples(COUNT, COUNT, COUNT, COUNT, COUNT), max_size=5))
def test_the_parts_of_each_bar_add_up_to_what_the_run_read(
    counts: list[tuple[int, int, int, int, int]],
) -> None:
    runs = [run(*each) for each in counts]
    assert [sum(outcomes(each).values()) for each in runs] == [each.read for each in runs]
    bars = account_bars(runs)
    assert len(bars) == sum(count > 0 for each in counts for count in each)


def test_the_highest_bar_fills_the_chart_and_another_stands_to_it_as_their_records_do() -> None:
    older, newer = run(25, 0, 0, 0, 0), run(50, 0, 50, 0, 0)
    left, low, high = account_bars([newer, older])
    assert (left.x, left.height, left.y) == (0, HEIGHT / 4, HEIGHT * 3 / 4)
    assert (low.kind, low.height, high.kind, high.y) == ("accepted", HEIGHT / 2, "late", 0)
    assert low.x == high.x > left.x + left.width


def test_no_run_and_runs_without_records_have_no_bars() -> None:
    assert account_bars([]) == account_bars([run(0, 0, 0, 0, 0)]) == []


@pytest.mark.parametrize(
    ("text", "seen"),
    [("abcdef", "abcd … (2 more characters)"), ("abcd", "abcd"), ("a\u202e", r"a\u202e")],
)
def test_a_long_text_is_cut_and_says_how_much_is_left_out(text: str, seen: str) -> None:
    assert visible(text, 4) == seen
