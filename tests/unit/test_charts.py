"""The charts of the views: what their points, series and bounds say, and how a page carries them."""

import html
import json
import re
from datetime import UTC, datetime, timedelta

from hypothesis import given, strategies as st

from spark_jobs.messages.offset_account import Account
from spark_jobs.ops.json_of_tables import BatchLine, Bucket, RunLine, StepUse
from spark_jobs.pages.chart import Bound, Chart, Series, drawn
from spark_jobs.pages.charts import (
    accounts,
    by_day,
    bytes_of_state,
    lags,
    late_shares,
    outcomes,
    rows_in_state,
)
from spark_jobs.pages.templates import ROWS, environment

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
def test_the_parts_of_each_point_add_up_to_what_the_run_read(counts):
    runs = [run(*each) for each in counts]
    assert [sum(outcomes(each).values()) for each in runs] == [each.read for each in runs]
    columns = zip(*(each.values for each in accounts(runs).series), strict=True)
    assert [sum(filter(None, each)) for each in columns] == [each.read for each in reversed(runs)]


def test_what_is_not_known_is_a_gap_and_no_0():
    lost = run(8, 0, 0, 0, 0).model_copy(update={"duplicates": None, "unaccounted": None})
    gaps = {each.label for each in accounts([lost]).series if each.values == [None]}
    assert gaps == {"duplicates", "unaccounted"}
    assert sum(outcomes(lost).values()) == lost.read


def test_a_run_is_at_its_begin_and_oldest_first_and_a_click_opens_it():
    old, new = (
        run(1, 0, 0, 0, 0).model_copy(
            update={"run_id": name, "started_at": NOON + timedelta(hours=hour)}
        )
        for name, hour in (("old", 0), ("new", 1))
    )
    chart = accounts([new, old])
    assert (chart.runs, chart.x) == (["old", "new"], [NOON.timestamp(), NOON.timestamp() + 3600])


def test_a_day_has_a_part_for_each_of_the_five_commonest_reasons_and_one_for_the_rest():
    def of(day: str, reason: str, records: int) -> Bucket:
        return Bucket(day=day, reason=reason, records=records)

    days = [of("2026-03-02", f"reason {n}", 10 - n) for n in range(7)]
    chart = by_day([*days, of("2026-03-01", "reason 0", 49), of("", "reason 1", 3)])
    assert [each.label for each in chart.series] == [
        *(f"reason {n}" for n in range(5)),
        "other reasons",
    ]
    assert (chart.names, chart.series[0].values) == (["2026-03-01", "2026-03-02"], [49, 10])
    assert chart.series[-1].values == [0, 5 + 4]
    cut = by_day([of("2026-03-01", "a", 1), of("2026-03-01", "other reasons", 9)])
    assert [(each.label, each.values) for each in cut.series] == [
        ("a", [1]),
        ("other reasons", [9]),
    ]
    assert by_day([]).x == []


def test_the_lag_is_the_time_from_the_watermark_to_the_run_s_end_and_the_share_is_of_decoded_ones():
    behind = run(8, 0, 1, 1, 0).model_copy(update={"watermark": NOON - timedelta(hours=3)})
    assert lags([behind, run(1, 0, 0, 0, 0)]).series[0].values == [None, 3 * 3600]
    late = late_shares([run(0, 0, 0, 5, 0), behind], 0.05)
    assert (late.series[0].values, late.bounds) == ([1 / 9, None], [Bound("check", 0.05)])


def test_the_state_has_a_series_for_each_step_and_the_bytes_have_the_budget():
    def batch(number: int, rows: dict[int, int], size: int, at: datetime | None) -> BatchLine:
        steps = tuple(
            StepUse(step=step, kind="deduplicate", rows=count, memory=size, files=count)
            for step, count in rows.items()
        )
        return BatchLine(
            batch=number, generation="g", run_id="r", audited_at=at, seconds=None, source=None,
            account=Account(), offsets_start=None, offsets_end=None, state_rows=None,
            state_bytes=size, watermark=None, table_version=None, steps=steps,
        )  # fmt: skip

    batches = [batch(2, {1: 5, 2: 7}, 9, NOON), batch(1, {1: 4}, 8, NOON), batch(0, {}, 7, None)]
    rows = rows_in_state(batches, None)
    assert [each.values for each in rows.series] == [[4, 5], [None, 7]]
    assert rows.bounds == []
    size = bytes_of_state(batches, 100)
    assert size.names == ["batch 1", "batch 2"]
    assert [each.values for each in size.series] == [[12, 14], [None, 16]]
    assert size.bounds == [Bound("budget", 100)]
    assert not bytes_of_state(batches, 1000).bounds, "a line far above would press all of it down"
    [unknown] = bytes_of_state([batch(3, {}, 9, NOON)], 100).series
    assert (unknown.label, unknown.values) == ("state", [9])


HOSTILE = """</script><script>alert(1)</script>'"><img src=x onerror=alert(1)>\u202e&amp;"""


def test_hostile_names_stay_text_in_the_data_and_in_the_table_of_a_figure():
    series = [Series(HOSTILE, [float("nan")], "part0")]
    chart = Chart(
        HOSTILE, "records", "bars", [1.0], [HOSTILE], [HOSTILE], series, [Bound(HOSTILE, 2)]
    )
    text = (
        environment()
        .from_string('{% from "chart.html" import chart %}{{ chart(it, "/sluice", "p") }}')
        .render(it=chart)
    )
    assert not re.search("<(script|img)", text)
    [written] = re.findall("data-chart='([^']*)'", text)
    found = json.loads(html.unescape(written))
    assert found["series"][0]["values"] == [None], "JSON knows no other numbers"
    assert found["runs"] == [HOSTILE], "the address is what it is"
    assert "\u202e" not in "".join([*found["names"], *re.split("data-chart='[^']*'", text)])


def test_a_chart_says_its_figures_in_a_table_too():
    chart = Chart(
        "How large?", "bytes", "line", [0.0, 3600.0], ["batch 0", "batch 1"], ["r", "r"],
        [Series("state", [2**20, None], "part0")], [Bound("budget", 2**30)],
    )  # fmt: skip
    page = (
        environment()
        .from_string('{% from "chart.html" import chart %}{{ chart(it, none, "p") }}')
        .render(it=chart)
    )
    cells = re.findall(r"<t[dh][^>]*>([^<]*)<", page.split("<tbody>")[1])
    assert cells == [
        "1970-01-01 01:00:00",
        "batch 1",
        "",
        "1970-01-01 00:00:00",
        "batch 0",
        "1.0 MiB",
    ]
    assert "budget: 1.0 GiB" in page
    many = chart._replace(
        x=range(ROWS + 1), names=["b"] * (ROWS + 1), runs=["r"] * (ROWS + 1), series=[]
    )
    cut = environment().get_template("chart.html").module.chart(many, None, "p")
    assert (cut.count("<tr>") - 1, f"{ROWS} of {ROWS + 1}" in cut) == (ROWS, True)
    assert drawn(chart) in page
