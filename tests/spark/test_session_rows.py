"""Which rows computed sessions replace, against plain Python: hundreds of keys at once."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession
from upath import UPath

from spark_jobs.errors import RangeUnsupported
from spark_jobs.launch.session import session
from spark_jobs.repair.compute.account import parts
from spark_jobs.repair.compute.change import change
from spark_jobs.repair.compute.staged import write_rows
from spark_jobs.repair.unit import session_rows as sessions
from spark_jobs.spec import Aggregate, Deduplicate, Pipeline, Ranges, Session, State
from spark_jobs.spec.analysis.ranged import Ranged, ranged
from spark_jobs.topics.flights import FLIGHTS
from spark_jobs.values.spans import MICROSECOND, Span
from tests.harness.refused import fails

ORIGIN = datetime(2013, 2, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
GAP = 10
LONGEST = timedelta(hours=3)
SPANS = (
    Span(ORIGIN + 60 * MINUTE, ORIGIN + 90 * MINUTE),
    Span(ORIGIN + 120 * MINUTE, ORIGIN + 150 * MINUTE),
)
COLUMNS = "window_start timestamp, window_end timestamp, origin string, flights bigint"
Row = tuple[Any, ...]


class Key(NamedTuple):
    """The events of a key, in minutes, and which of them were late."""

    name: str | None
    on_time: list[int]
    late: list[int]

    def rows(self, minutes: list[int]) -> list[Row]:
        """The sessions of these events."""
        found: list[list[int]] = []
        for at in sorted(minutes):
            if found and at <= found[-1][1]:
                found[-1] = [found[-1][0], at + GAP, found[-1][2] + 1]
            else:
                found.append([at, at + GAP, 1])
        return [
            (ORIGIN + a * MINUTE, ORIGIN + b * MINUTE, self.name, count) for a, b, count in found
        ]

    @property
    def live(self) -> list[Row]:
        return self.rows(self.on_time)

    @property
    def computed(self) -> list[Row]:
        return self.rows(self.on_time + self.late)


def way() -> Ranged:
    step = Aggregate(
        window=Session(gap=GAP * MINUTE), keys=("origin",), measures={"flights": "count(*)"}
    )
    return ranged(
        Pipeline(
            name="sessions",
            about="a test",
            topic=FLIGHTS,
            watermark_delay=timedelta(hours=2),
            steps=(Deduplicate(keys=("event_id",)), step),
            ranges=Ranges(context=LONGEST),
        )
    )


def keys() -> list[Key]:
    chance = Random(7)
    made = []
    for number in range(300):
        minutes = chance.sample(range(200), chance.randrange(1, 14))
        late = chance.sample(minutes, chance.randrange(min(4, len(minutes) + 1)))
        on_time = [at for at in minutes if at not in late]
        made.append(Key(f"key {number}" if number else None, on_time, late))
    return made


def frame(spark: SparkSession, rows: list[Row]) -> DataFrame:
    return spark.createDataFrame(rows, COLUMNS)


def within(row: Row) -> bool:
    return any(span.start <= row[1] - MICROSECOND < span.end for span in SPANS)


def meet(one: Row, other: Row) -> bool:
    return one[2] == other[2] and one[0] <= other[1] and other[0] <= one[1]


def compared(found: sessions.Replaced) -> DataFrame:
    return sessions.explained(change(way().spec, found.live, found.computed), found.joined)


def told(rows: Iterable[Any]) -> list[Row]:
    """Rows as Spark gives them back, without those that are null."""
    return in_order(
        (row[0].replace(tzinfo=UTC), row[1].replace(tzinfo=UTC), *row[2:])
        for row in rows
        if row is not None
    )


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=repr)


@pytest.fixture(scope="module", autouse=True)
def settings_of_a_run(spark):
    """Those that a repair has, with few partitions."""
    session("sessions", State())
    yield
    spark.catalog.clearCache()


def test_the_sessions_of_a_range_replace_what_they_overlap_of_their_key_alone(spark, tmp_path):
    made = keys()
    live = [row for key in made for row in key.live]
    computed = [row for key in made for row in key.computed]
    late = [row for key in made for row in key.rows(key.late)]
    found = sessions.replaced(
        way(), SPANS, frame(spark, live), frame(spark, computed), frame(spark, late)
    )
    come = [row for row in computed if within(row)]
    goes = [row for row in live if any(meet(row, each) for each in come)]
    assert any(not within(row) for row in goes), "none ended before the range"
    assert any(within(row) for row in live if row not in goes), "none belongs to a later session"

    paired = compared(found)
    rows = paired.collect()
    assert told(row.after for row in rows) == in_order(come)
    assert told(row.before for row in rows) == in_order(goes)
    assert told(found.carried.collect()) == in_order(row for row in live if row not in goes)
    joined = [row for row in come if any(meet(row, each) for each in late)]
    for row in rows:
        [session] = told([row.after or row.before])
        assert row.explained == any(meet(session, each) for each in joined)
        assert row.explained or row.op is None, "only late records changed rows"

    write_rows(paired, way().position, SPANS, UPath(tmp_path), found.carried)
    staged = spark.read.format("delta").load(str(tmp_path / "rows"))
    stays = [row for row in live if row not in goes and within(row)]
    assert told(staged.collect()) == in_order([*come, *stays])


@pytest.mark.parametrize(
    ("row", "given", "becomes"),
    [
        ((70, 100), [(70, 80)], "--from 2013-02-01T01:00:00Z --to 2013-02-01T01:40:00Z"),
        ((50, 80), [(50, 60)], "--from 2013-02-01T00:00:00Z --to 2013-02-01T01:30:00Z"),
        ((100, 140), [(100, 110), (112, 119), (125, 140)], "--from 2013-02-01T01:00:00Z --to 2013-02-01T02:30:00Z"),
        ((70, 150), [(70, 80), (95, 110), (130, 150)], "--from 2013-02-01T01:00:00Z --to 2013-02-01T02:30:00Z"),
        ((65, 85), [(65, 95)], "carried"),
        ((70, 400), [(70, 80)], "--from 2013-02-01T01:00:00Z --to 2013-02-01T06:40:00Z"),
        ((62, 88), [(62, 70), (71, 81)], "goes"),
        ((92, 118), [(92, 102)], "carried"),
        ((90, 100), [(80, 90)], "carried"),
        ((80, 90), [(70, 80)], "goes"),
    ],
)  # fmt: skip
def test_a_row_wider_than_its_session_goes_with_all_that_it_overlaps_or_its_range_is_told(
    spark, row, given, becomes
):
    """The records that made it so wide have left it: the spec was corrected."""
    live, *computed = ((*(ORIGIN + at * MINUTE for at in each), "key", 1) for each in (row, *given))
    made = frame(spark, [live])
    found = made.where(sessions.beside(way(), SPANS)), frame(spark, computed), frame(spark, [])
    if becomes.startswith("--from"):
        _, start, _, end = becomes.split()
        with fails(RangeUnsupported, "session_wider", start=start, end=end):
            sessions.replaced(way(), SPANS, *found)
        return
    taken = sessions.replaced(way(), SPANS, *found)
    gone, stays = (told(rows.collect()) for rows in (taken.live, taken.carried))
    assert (gone, stays) == (([live], []) if becomes == "goes" else ([], [live]))
    assert parts(way(), SPANS, taken.carried) == (becomes == "carried" and within(live))


def test_no_record_is_lost_or_doubled_when_records_have_left_their_sessions(spark):
    made = [key for key in keys() if key.late]
    live = [row for key in made for row in key.computed]
    given = [row for key in made for row in key.live]  # what was late is not there at all

    def wide(row: Row) -> bool:
        mine = [each for each in given if each[2] == row[2] and meet(each, row)]
        mine = [each for each in mine if each[0] < row[1] and row[0] < each[1]]
        if not mine or (mine[0][0] <= row[0] and mine[0][1] >= row[1]):
            return False
        end = max(row[1], mine[-1][1])
        return any(map(within, [row, *mine])) and not any(
            span.start <= row[0] and end <= span.end for span in SPANS
        )

    refused = [row for row in live if wide(row)]
    none = frame(spark, [])
    start = "2013-02-01T00:00:00Z"
    with fails(RangeUnsupported, "session_wider", pipeline="sessions", start=start):
        sessions.replaced(way(), SPANS, frame(spark, live), frame(spark, given), none)

    # The keys without such a row.
    left = {row[2] for row in live} - {row[2] for row in refused}
    assert len(left) > 30
    live, given = ([row for row in rows if row[2] in left] for rows in (live, given))
    found = sessions.replaced(way(), SPANS, frame(spark, live), frame(spark, given), none)
    after = told(found.computed.collect()) + told(found.carried.collect())
    assert any(row not in given and not within(row) for row in after), "all was canonical"
    for key in (key for key in made if key.name in left):
        rows = [row for row in after if row[2] == key.name]
        for at in (ORIGIN + minute * MINUTE for minute in key.on_time):
            assert sum(a <= at < b for a, b, *_ in rows) == 1, (key, at, rows)
    assert in_order(filter(within, given)) == in_order(filter(within, after))


def test_keys_may_have_any_name(spark):
    made = "window_start timestamp, window_end timestamp, x string, late_x string, flights bigint"
    ends = SPANS[0].end
    [row] = [(ends - GAP * MINUTE, ends, "a", "b", 1)]
    rows = spark.createDataFrame([row], made)
    base = way().spec
    step = base.steps[-1].model_copy(update={"keys": ("x", "late_x")})
    other = ranged(base.model_copy(update={"steps": (*base.steps[:-1], step)}))
    late = rows.select("window_start", "window_end", "x", "late_x")
    found = sessions.replaced(other, SPANS, rows.limit(0), rows, late)
    [only] = sessions.explained(
        change(other.spec, found.live, found.computed), found.joined
    ).collect()
    assert (only.op, only.explained) == ("added", True)


def test_a_row_that_no_record_gives_goes_and_nothing_explains_it(spark):
    at = SPANS[0].start
    orphan = (at, at + GAP * MINUTE, "gone", 2)
    beside = (at, at + GAP * MINUTE, "kept", 1)
    late = frame(spark, [(at, at + GAP * MINUTE, "other", 1)])
    found = sessions.replaced(
        way(), SPANS, frame(spark, [orphan, beside]), frame(spark, [beside]), late
    )
    [row] = [row for row in compared(found).collect() if row.op]
    assert (row.op, row.explained, row.before.origin) == ("removed", False, "gone")


@pytest.mark.parametrize("begins", [SPANS[0].start - 170 * MINUTE, SPANS[0].end])
@pytest.mark.parametrize("where", ["computed", "live"])
def test_a_session_that_is_longer_than_declared_is_refused_with_its_times(spark, begins, where):
    ends = SPANS[0].end - MINUTE if where == "live" else begins + LONGEST + MINUTE
    row = (ends - LONGEST - MINUTE, ends, "long", 30)
    none = frame(spark, [])
    live, computed = (frame(spark, [row]), none) if where == "live" else (none, frame(spark, [row]))
    with fails(RangeUnsupported, "session_beyond_context", start=f"{row[0]:%F %H:%M:%S} UTC"):
        sessions.replaced(way(), SPANS, live, computed, none)


def test_a_long_session_outside_the_ranges_is_no_matter(spark):
    ends = SPANS[0].start
    row = (ends - 2 * LONGEST, ends, "long", 30)
    none = frame(spark, [])
    found = sessions.replaced(way(), SPANS, frame(spark, [row]), frame(spark, [row]), none)
    assert told(found.carried.collect()) == [row]
