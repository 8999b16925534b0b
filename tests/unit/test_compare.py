"""What a switch would change, by day: held against plain Python over real tables."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from upath import UPath

from spark_jobs.admin.rebuild.compare import Day, difference, lines
from spark_jobs.table.delta.table import Delta
from spark_jobs.values.spans import Position
from tests.unit.specs import deduplicate, pipeline

HOURLY, EVENTS = pipeline(), pipeline(steps=(deduplicate(),))
END = Position("window_end", "end")
MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    {
        "window_start": pa.timestamp("us", "UTC"),
        "window_end": pa.timestamp("us", "UTC"),
        "shop": pa.string(),
        "turnover": pa.float64(),
    }
)


def table(path: Path, rows: list[tuple[int, str | None, Any]], schema: pa.Schema = SCHEMA) -> Delta:
    """Rows of the hour that ends so many hours after midnight."""
    made = [
        dict(
            zip(
                schema.names,
                (MIDNIGHT + timedelta(hours=at - 1), MIDNIGHT + timedelta(hours=at), shop, value),
                strict=True,
            )
        )
        for at, shop, value in rows
    ]
    deltalake.write_deltalake(str(path), pa.Table.from_pylist(made, schema))
    return Delta(UPath(path))


def test_groups_are_compared_by_the_day_in_which_their_window_ends(tmp_path):
    live = table(
        tmp_path / "live",
        [(1, "a", 1.0), (24, "a", 2.0), (25, "a", 3.0), (26, None, 4.0), (30, "a", 0.1 + 0.2)],
    )
    side = table(
        tmp_path / "side",
        [
            (1, "a", 1.5),
            (24, "b", 2.0),
            (25, "a", 3.0),
            (26, None, 5.0),
            (30, "a", 0.3),
            (50, "a", 9.0),
        ],
    )
    found = difference(live, side, HOURLY, END)
    first, second, third = (date(2026, 3, day) for day in (1, 2, 3))
    assert found.columns == ()
    assert found.days == (
        Day(first, 2, 2, 1, 1, 1),
        Day(second, 3, 3, 1, 0, 0),
        Day(third, 0, 1, 0, 1, 0),
    )
    assert [*lines(found)][-1] == "  in all: 5 rows -> 6, 2 changed, 2 added, 1 removed"


def test_rows_without_an_identity_are_added_and_removed_as_often_as_they_are_there(tmp_path):
    live = table(tmp_path / "live", [(1, "a", 1.0), (1, "a", 1.0), (2, "a", 1.0)])
    side = table(tmp_path / "side", [(1, "a", 1.0), (2, "a", 1.0), (2, "b", None)])
    found = difference(live, side, EVENTS, None)
    assert found.days == (Day(None, 3, 3, 0, 1, 1),)
    assert not found.none
    assert difference(live, live, EVENTS, None).none


@pytest.mark.parametrize(("first", "second"), [("day", "n"), ("o", "m"), ("p", "changed")])
def test_columns_may_have_any_name(tmp_path, first, second):
    schema = pa.schema([*list(SCHEMA)[:2], pa.field(first, pa.string()), (second, pa.int64())])
    live = table(tmp_path / "live", [(1, "a", 1), (2, "b", 2)], schema)
    side = table(tmp_path / "side", [(1, "a", 1), (2, "b", 3)], schema)
    [day] = difference(live, side, EVENTS, END).days
    assert day == Day(MIDNIGHT.date(), 2, 2, 0, 1, 1)


def test_maps_are_compared_by_key_and_lists_of_doubles_as_they_are(tmp_path):
    prices = pa.map_(pa.string(), pa.float64())
    schema = pa.schema(
        [*list(SCHEMA)[:3], pa.field("prices", prices), ("all", pa.list_(pa.float64()))]
    )

    def made(name: str, *rows: list[tuple[str, float]]) -> UPath:
        of = [
            dict(zip(schema.names, (MIDNIGHT, MIDNIGHT, "a", row, [1.0]), strict=True))
            for row in rows
        ]
        deltalake.write_deltalake(str(tmp_path / name), pa.Table.from_pylist(of, schema))
        return Delta(UPath(tmp_path / name))

    live = made("live", [("x", 1.0), ("y", 2.0)], [("x", 1.0)])
    side = made("side", [("y", 2.0), ("x", 1.0)], [("x", 3.0)])
    [day] = difference(live, side, EVENTS, None).days
    assert (day.added, day.removed) == (1, 1)


def test_where_columns_differ_rows_are_counted(tmp_path):
    live = table(tmp_path / "live", [(1, "a", 1.0)])
    other = pa.schema(
        [*[*SCHEMA][:2], pa.field("branch", pa.string()), pa.field("turnover", pa.int64())]
    )
    side = table(tmp_path / "side", [(1, "a", 1), (25, "a", 2)], other)
    found = difference(live, side, HOURLY, END)
    assert sorted(found.columns) == [
        "branch is new",
        "shop is dropped",
        "turnover has another type",
    ]
    assert [(day.before, day.after) for day in found.days] == [(1, 1), (0, 1)]
    assert [*lines(found)][-1] == "  in all: 1 rows -> 2"


@pytest.mark.parametrize("days", [3, 60])
def test_many_days_are_cut_and_equal_ones_are_not_listed(tmp_path, days):
    live = table(tmp_path / "live", [(24 * n + 1, "a", 1.0) for n in range(days)])
    side = table(tmp_path / "side", [(24 * n + 1, "a", 1.0 + (n > 0)) for n in range(days)])
    told = [*lines(difference(live, side, HOURLY, END))]
    assert (told[-2], told[-3] == "  and 19 days more") == ("  1 days are equal", days == 60)


def test_rows_of_any_year_have_their_day(tmp_path):
    """A Transform alone lets every event time through, and delta-rs tells days of 1677 to 2262."""
    days = date.min, date(1582, 10, 15), date(1850, 1, 1), date.max

    def far(folder: str, shop: str) -> UPath:
        rows = [{"at": datetime(d.year, d.month, d.day, 23, 59, tzinfo=UTC)} for d in days]
        times = pa.table(
            {"at": [row["at"] for row in rows]}, pa.schema([SCHEMA.field(0).with_name("at")])
        )
        deltalake.write_deltalake(str(tmp_path / folder), times.append_column("shop", [[shop] * 4]))
        return Delta(UPath(tmp_path / folder))

    found = difference(far("live", "a"), far("side", "b"), EVENTS, Position("at"))
    assert [day.day for day in found.days] == [*days]
    assert next(lines(found)) == "  0001-01-01: 1 rows -> 1, 0 changed, 1 added, 1 removed"
