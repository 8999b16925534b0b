"""The charts of the views: what a bar's height and its parts say."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, strategies as st

from spark_jobs.ops.shown import Bucket, RunLine
from spark_jobs.pages.bars import HEIGHT, Point
from spark_jobs.pages.rejected_chart import day_chart
from spark_jobs.pages.run_charts import account_bars, check_chart, lag_chart, late_chart, outcomes

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
COUNT = st.integers(0, 10**9)


def run(
    accepted: int, duplicates: int, late: int, malformed: int, premature: int, filtered: int = 0
) -> RunLine:
    return RunLine(
        pipeline="p",
        run_id="r",
        kind="drain",
        status="succeeded",
        problem=None,
        started_at=NOON,
        ended_at=NOON,
        query_seconds=None,
        read=accepted + duplicates + late + malformed + premature + filtered,
        filtered=filtered,
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


@given(st.lists(st.tuples(COUNT, COUNT, COUNT, COUNT, COUNT, COUNT), max_size=5))
def test_the_parts_of_each_bar_add_up_to_what_the_run_read(counts):
    runs = [run(*each) for each in counts]
    assert [sum(outcomes(each).values()) for each in runs] == [each.read for each in runs]
    assert len(account_bars(runs)) == sum(count > 0 for each in counts for count in each)


def test_a_bar_of_a_day_has_a_part_for_each_of_the_five_commonest_reasons_and_one_for_the_rest():
    def of(day: int, reason: str, records: int) -> Bucket:
        return Bucket(day=f"2026-03-0{day}", reason=reason, records=records)

    days = [of(2, f"reason {n}", 10 - n) for n in range(7)] + [of(1, "reason 0", 49)]
    found = day_chart(days)
    assert found.reasons == [*(f"reason {n}" for n in range(5)), "other reasons"]
    assert [each.title for each in found.bars][:2] == [
        "2026-03-01: 49 reason 0",
        "2026-03-02: 10 reason 0",
    ]
    assert found.bars[-1].title == "2026-03-02: 9 other reasons"
    newest = [bar.height for bar in found.bars[1:]]
    assert (len(newest), round(sum(newest), 1)) == (6, found.bars[0].height), "49 records each"
    assert day_chart([]).bars == []


def test_duplicates_that_are_not_known_are_among_the_accepted():
    lost = run(8, 0, 0, 0, 0).model_copy(update={"duplicates": None, "unaccounted": None})
    assert outcomes(lost).keys().isdisjoint({"duplicates", "unaccounted"})
    assert sum(outcomes(lost).values()) == lost.read


def test_a_bar_over_the_bound_is_marked_and_the_bound_is_in_the_chart_though_all_are_below_it():
    chart = check_chart([Point("a", "a", 2, "2"), Point("b", "b", 4, "4")], 3)
    assert [bar.kind for bar in chart.bars] == ["part0", "over"]
    assert (chart.limit, chart.bound, chart.most) == (HEIGHT / 4, "3", "4")
    low = check_chart([Point("a", "a", 2, "2")], 8)
    assert (low.limit, low.bars[0].height) == (0, HEIGHT / 4)


def test_the_lag_is_the_time_from_the_watermark_to_the_run_s_end_and_the_share_is_of_decoded_ones():
    behind = run(8, 0, 1, 1, 0).model_copy(
        update={"watermark": NOON - timedelta(hours=3), "run_id": "behind"}
    )
    chart = lag_chart([run(1, 0, 0, 0, 0), behind])
    assert (chart.most, [bar.run_id for bar in chart.bars]) == ("3 hours", ["behind"])
    late = late_chart([behind], 0.05)
    assert (late.most, late.bound, late.bars[0].kind) == ("11.11 %", "5.00 %", "over")
    below = late_chart([behind], 0.5)
    assert (below.most, below.bound) == ("11.11 %", "50.00 %"), "the highest bar, not the bound"
    assert late_chart([run(0, 0, 0, 5, 0)], 0.05).bars == []
