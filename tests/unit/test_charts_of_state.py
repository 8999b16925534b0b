"""What the page of the state draws of a kept answer."""

from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.messages.state_answer import Expiring, Expiry, KeySizes, Power, StepAnswer
from spark_jobs.pages.charts import A_BUCKET, a_key, expiry_chart, size_bars

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = 3600


def expiry(*spans: tuple[int, int], since: datetime | None = NOON, variable: str = "") -> Expiry:
    """Hours and rows."""
    return Expiry(
        variable=variable, counted="rows", by="watermark", since=since, later=0, never=0,
        spans=tuple(Expiring(hours=hours, rows=rows) for hours, rows in spans),
    )  # fmt: skip


def sizes(*powers: tuple[int, int], columns: tuple[str, ...] = ("k",)) -> KeySizes:
    return KeySizes(
        columns=columns, keys=1, rows=1, bytes=1, untimed=None, largest=(),
        powers=tuple(Power(power=power, keys=keys) for power, keys in powers),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("spans", "wide", "values"),
    [
        (((0, 5), (1, 2), (3, 4)), 1, [5, 2, 0, 4]),
        (((0, 5), (48, 1)), 1, [5, *[0] * 47, 1]),
        (((1, 2), (30, 3), (72, 7)), 24, [0, 2, 3, 7]),
        (((24, 2), (1440, 1), (2160, 9)), 720, [0, 2, 1, 9]),
    ],
    ids=["hours", "two days", "days", "months"],
)
def test_bars_are_of_one_width_and_have_every_row_once(spans, wide, values):
    chart = expiry_chart(2, [expiry(*spans)])
    [series] = chart.series
    assert list(series.values) == values
    assert [at - NOON.timestamp() for at in chart.x] == [
        HOUR * wide * place for place in range(len(values))
    ]
    assert sum(series.values) == sum(rows for _, rows in spans)


def test_what_has_no_time_is_not_drawn():
    assert expiry_chart(2, []) is None
    assert expiry_chart(2, [expiry(), expiry((1, 1), since=None)]) is None
    both = expiry_chart(2, [expiry((1, 1), variable="a"), expiry(variable="b")])
    assert [each.label for each in both.series] == ["a"]


def test_a_watermark_at_the_end_of_time_ends_the_axis():
    late = datetime.max.replace(tzinfo=UTC) - timedelta(hours=2)
    chart = expiry_chart(1, [expiry((1, 1), (40, 9), since=late)])
    assert len(chart.x) == len(chart.names) == len(chart.series[0].values) == 3


def test_sizes_between_the_least_and_the_largest_are_there_with_none():
    bars = size_bars(sizes((5, 900), (8, 1)))
    assert [bar.keys for bar in bars] == [900, 0, 0, 1]
    assert bars[0].width == 900
    assert bars[1].width == 0 < bars[3].width
    assert size_bars(sizes()) == []


def test_a_bucket_is_told_from_a_key_of_that_name():
    def step(kind: str) -> StepAnswer:
        return StepAnswer(
            step=1, kind=kind, operator="o", partitions=1, variables=(),
            sizes=sizes(columns=("bucket",)),
        )  # fmt: skip

    assert a_key(step("group_state")) == A_BUCKET
    assert a_key(step("deduplicate")) not in {A_BUCKET, ""}
    assert a_key(step("one that a newer Sluice has")) == ""
