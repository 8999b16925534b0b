"""`sluice tune`: what each delay would have cost, against DuckDB over the records."""

import calendar
import json
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from spark_jobs.errors import QuestionRefused
from spark_jobs.messages.offset_account import Account
from spark_jobs.ops import ops_tables
from spark_jobs.spec import Pipeline, Sliding
from spark_jobs.spec.analysis.late_rule import micros, of_rows, watermark
from spark_jobs.spec.analysis.lateness import first_timely, late_for_certain
from spark_jobs.spec.duration import parse_duration
from spark_jobs.tune import shares
from spark_jobs.tune.batches import Slice, Timed
from spark_jobs.tune.shares import undecided
from spark_jobs.tune.tell import COLUMNS, cells, told
from spark_jobs.values.numbering import numbered_in
from spark_jobs.values.spans import EPOCH, MICROSECOND
from tests.harness.late_by_duckdb import Records
from tests.harness.long_form import examples
from tests.harness.refused import fails
from tests.harness.roots import NOON, ROOT, Root
from tests.unit.specs import aggregate, pipeline, topic

MINUTE = 60_000_000
START = (NOON - EPOCH) // MICROSECOND
SIZE = 3
"""Offsets of a slice."""
ROWS = pipeline(watermark_delay="1 hour")
HOURLY = pipeline(watermark_delay="1 hour", steps=(aggregate(),))
SLIDING = HOURLY.model_copy(
    update={"steps": (aggregate(window=Sliding(size="1 hour", slide="25 minutes"), counts=None),)}
)
SEVERAL = pipeline(
    topic=None, topics=(topic(name="eu"), topic(name="us")), watermark_delay="1 hour"
)
CLOSING = pipeline(watermark_delay="1 hour", close_after="2 hours", steps=(aggregate(),))
DELAYS = ("1 minute", "20 minutes", "1 hour", "90 minutes", "5 hours")


class Sent(NamedTuple):
    """A record, by its event time in microseconds."""

    at: int
    became: str = "entered"
    topic: int = 0


Batches = list[list[Sent]]


def by_duckdb(spec: Pipeline, batches: Batches, closes: dict[int, int]) -> Records:
    """`closes`: batch -> the event time that a silent topic's clock stands for."""
    sent = (
        {"batch": n, "topic": each.topic, "at": each.at, "enters": each.became == "entered"}
        for n, batch in enumerate(batches)
        for each in batch
    )
    moved = [{"batch": n, "newest": newest} for n, newest in closes.items()]
    return Records(sent, len(batches), len(spec.inputs), moved)


def drained(
    folder: str | Path,
    spec: Pipeline,
    batches: Batches,
    closes: dict[int, int] | None = None,
    days: float = 0,
) -> Root:
    """What the account of these batches leaves in the ops tables."""
    root = Root(Path(folder) / ROOT, spec)
    root.paths.ensure_writable()
    root.identified("g1")
    records = by_duckdb(spec, batches, closes or {})
    in_force = records.in_force(spec.watermark_delay)
    late, rows = records.late(spec, spec.watermark_delay), Accounts(spec)
    for number, batch in enumerate(batches):
        audited = NOON + timedelta(days=days * number, hours=number)
        rows.of(number, batch, (in_force[number], in_force[number + 1]), audited)
        assert rows.late == late.get(number, 0)
    for table, written in rows.written.items():
        root.put(table, *written)
    return root


class Accounts:
    """The rows of a batch after the other."""

    def __init__(self, spec: Pipeline) -> None:
        self.spec = spec
        self.written = defaultdict[str, list[dict[str, Any]]](list)
        """By table."""
        self.offsets = Counter[int]()
        """Partition -> the next offset."""
        self.late = 0
        """Records of the last batch."""

    def of(self, number: int, batch: list[Sent], marks: tuple[int, int], audited: datetime) -> None:
        """`marks`: the watermark of the batch before, and of this one."""
        mark, following = marks
        known = {"pipeline": self.spec.name, "generation": "g1", "batch_id": number}
        known |= {"run_id": f"r{number}"}
        timely = micros(first_timely(self.spec, at(mark)) or EPOCH)
        entered = [each for each in batch if each.became == "entered"]
        missed = [each for each in entered if each.at < timely]
        self.late = len(missed)
        counts = Account(
            covered=len(batch), read=len(batch), late=len(missed),
            accepted=len(entered) - len(missed),
            **{kind: sum(each.became == kind for each in batch) for kind in ("malformed", "filtered")},
        )  # fmt: skip
        times = [at(each.at) for each in entered]
        start = {p: self.offsets[p] for p in self.offsets}
        self._slices(known, batch, late_for_certain(self.spec, mark // 1000))
        row = known | {"offsets_start": json.dumps(start), "offsets_end": json.dumps(self.offsets)}
        row |= {"first_event_time": min(times, default=None)}
        row |= {"last_event_time": max(times, default=None)}
        row |= {"late_before": at(mark) if mark else None}
        row |= {"watermark": at(following) if following else None, "audited_at": audited}
        row |= {"operators": [{"step": 0, "numRowsTotal": 10 * number}]}
        self.written["batches"].append(row | counts.row())
        for n, each in enumerate(missed):
            late = {"partition": 0, "offset": n, "event_time": at(each.at)}
            self.written["late"].append(known | late)

    def _slices(self, known: dict[str, Any], batch: list[Sent], certain: int | None) -> None:
        for number in range(len(self.spec.inputs)):
            own, partition = [e for e in batch if e.topic == number], numbered_in(number, 0)
            for first in range(0, len(own), SIZE):
                some, begins = own[first : first + SIZE], self.offsets[partition]
                self.offsets[partition] += len(some)
                seen = [each.at for each in some if each.became != "malformed"]
                left_out = [each for each in seen if certain is not None and each <= certain * 1000]
                timed = sorted({*seen} - {*left_out})
                of = {"partition": partition, "first_offset": begins, "records": len(some)}
                of |= {"last_offset": begins + len(some) - 1, "late": len(left_out)}
                of |= {"first_event_time": at(timed[0]) if timed else None}
                of |= {"last_event_time": at(timed[-1]) if timed else None}
                self.written["slices"].append(known | of)


def at(micros: int) -> Any:
    return EPOCH + micros * MICROSECOND


RECORDS = st.builds(
    Sent,
    st.integers(0, 600).map(lambda minute: START + minute * MINUTE)
    | st.integers(0, 600 * MINUTE).map(lambda micros: START + micros),
    st.sampled_from(["entered"] * 6 + ["malformed", "filtered"]),
    st.integers(0, 1),
)
ON_TIME_AND_LATE = [
    [Sent(START)], [], [Sent(START - MINUTE * 61), Sent(START - 60 * MINUTE)], [Sent(START)]
]  # fmt: skip
BATCHES = st.lists(st.lists(RECORDS, max_size=7), min_size=1, max_size=5)
FORMS = {
    "rows": ROWS, "windows": HOURLY, "sliding": SLIDING, "several topics": SEVERAL,
    "close_after": CLOSING,
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=examples(24), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(batches=BATCHES, closes=st.dictionaries(st.integers(0, 4), st.integers(0, 600)))
@example(batches=ON_TIME_AND_LATE, closes={})
def test_the_late_records_are_duckdbs_or_within_the_bounds(form, batches, closes):
    spec = FORMS[form]
    delays = [parse_duration(each) for each in DELAYS]
    batches = [[each._replace(topic=each.topic % len(spec.inputs)) for each in b] for b in batches]
    closes = {
        n: START + minute * MINUTE
        for n, minute in closes.items()
        if spec.close_after and n < len(batches) and not batches[n]
    }
    records = by_duckdb(spec, batches, closes)
    entered = sum(each.became == "entered" for batch in batches for each in batch)
    with TemporaryDirectory() as folder:
        root = drained(folder, spec, batches, closes)
        if not entered:
            with fails(QuestionRefused, "no_batches"):
                told(spec, root.settings, delays)
            return
        found = told(spec, root.settings, delays)
    was_late = sum(records.late(spec, spec.watermark_delay).values())
    assert f"As the runs had it, {was_late:,} of these records were late." in found.notes
    for price in found.prices:
        truth = sum(records.late(spec, price.delay).values())
        assert price.late.least <= truth <= price.late.most <= price.late.entered == entered, price
        assert price.late.least == price.late.most or price.delay < spec.watermark_delay
    ordered = [(price.late.least, price.late.most) for price in found.prices]
    assert [each[1] for each in ordered] == sorted((each[1] for each in ordered), reverse=True)
    assert [len(row) for row in cells(found)] == [len(COLUMNS)] * len(DELAYS)


KINDS = st.sampled_from(["entered"] * 4 + ["malformed", "filtered"])
SOME = st.lists(st.builds(Sent, st.integers(0, 12), KINDS), min_size=1, max_size=9)


@example([Sent(0, "filtered"), Sent(5)], 0, 0, 3, 2)
@example([Sent(1), Sent(5), Sent(6)], 2, 3, 4, 3)
@settings(max_examples=examples(400))
@given(SOME, st.integers(0, 13), st.integers(0, 4), st.integers(0, 13), st.integers(1, 4))
def test_the_bounds_of_a_batch_hold_and_are_exact_where_what_decides_was_read(
    sent, missed, uncertain, first, size
):
    """`missed` and `first`: the first event times that are not late, as it was and as it would be."""
    parts = [sent[n : n + size] for n in range(0, len(sent), size)]
    slices, read = [], {}
    for number, part in enumerate(parts):
        certain = [
            each for each in part if each.became != "malformed" and each.at < missed - uncertain
        ]
        times = [each.at for each in part if each.became != "malformed" and each not in certain]
        if times:
            places, count = (number * size, number * size + size - 1), len(part) - len(certain)
            made = Slice(0, *places, count, min(times), max(times))
            slices.append(made)
            read[made] = [
                each.at for each in part if each.became == "entered" and each.at >= missed
            ]
    entered = [each.at for each in sent if each.became == "entered"]
    late_ones = tuple(each for each in entered if each < missed)
    row = {"late": len(late_ones), "accepted": len(entered) - len(late_ones)}
    row |= {kind: sum(each.became == kind for each in sent) for kind in ("malformed", "filtered")}
    batch = Timed(row | {"premature": 0}, 0, missed, late_ones, tuple(slices))
    truth = sum(each < first for each in entered)
    bounds = shares.late(batch, lambda _: first, {})
    assert bounds.least <= truth <= bounds.most <= bounds.entered == len(entered)
    wanted = undecided([batch], [lambda _: first])
    if not wanted:
        assert bounds.least == bounds.most
    some = {each: read[each] for each in wanted}
    exact = shares.late(batch, lambda _: first, some)
    assert exact[:2] == (truth, truth)
    plain = not row["malformed"] and not row["filtered"] and uncertain == 0
    if plain and all(each.last < first or first <= each.first for each in slices):
        assert bounds.least == bounds.most
    lost = batch._replace(late=late_ones[1:])
    assert shares.late(lost, lambda _: first, some).least <= truth
    assert truth <= shares.late(lost, lambda _: first, some).most


MONDAY = micros(datetime(2026, 3, 2, 12, tzinfo=UTC))
DAY = 24 * 60 * MINUTE


@settings(max_examples=examples(24), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 6), st.integers(14, 16), st.integers(1, 3), st.sets(st.integers(0, 6)))
@example(0, 14, 1, set())
def test_a_weekday_with_far_more_late_records_is_told_with_its_share(odd, days, some, others):
    """A batch a day; one weekday has records of six hours before."""
    batches = [
        [Sent(MONDAY + n * DAY), *[Sent(MONDAY + n * DAY + MINUTE)] * 7]
        + [Sent(MONDAY + (n - 1) * DAY - 6 * 60 * MINUTE)] * (3 * some * (n % 7 == odd))
        + [Sent(MONDAY + (n - 1) * DAY - 6 * 60 * MINUTE)] * (n % 7 in others)
        for n in range(days + 1)
    ]
    late = by_duckdb(ROWS, batches, {}).late(ROWS, ROWS.watermark_delay)
    by_day = Counter[int]()
    for number, count in late.items():
        by_day[number % 7] += count
    entered = Counter[int]()
    for number, batch in enumerate(batches):
        entered[number % 7] += len(batch)
    with TemporaryDirectory() as folder:
        root = drained(folder, ROWS, batches, days=1)
        [now] = [p for p in told(ROWS, root.settings).prices if p.delay == ROWS.watermark_delay]
    shares = {day: by_day[day] / entered[day] for day in entered}
    day = max(shares, key=lambda each: shares[each])
    far = shares[day] and shares[day] >= 2 * sum(late.values()) / entered.total()
    if not far:
        assert now.weekday is None
        return
    name, of_day = now.weekday
    assert of_day.least == of_day.most
    assert of_day.shares[0] == shares[day]
    assert shares[[*calendar.day_name].index(name)] == shares[day]


def test_a_step_that_the_spec_has_no_more_tells_nothing_of_its_state(tmp_path):
    root = drained(tmp_path, HOURLY, [[Sent(START)], [Sent(START + MINUTE)]])
    other = {"operators": [{"step": 7, "numRowsTotal": 50}]}
    for until, held in ((1, "10"), (2, "not known")):
        rows = [each | other if each["batch_id"] < until else each for each in root.told("batches")]
        ops_tables.replace(root.paths.root, "batches", rows, "true")
        found = told(HOURLY, root.settings, [timedelta(hours=1)])
        assert [row[3] for row in cells(found)] == [held]


@pytest.mark.parametrize(
    ("delay", "final"),
    [("140 minutes", "3 hours 20 minutes"), ("80 seconds", "1 hour 1 minute 20 seconds")],
)
def test_a_window_is_final_the_delay_and_the_time_to_the_next_run_behind_its_end(
    tmp_path, delay, final
):
    """The second run comes an hour behind the first."""
    root = drained(tmp_path, HOURLY, [[Sent(START)], [Sent(START + MINUTE)]])
    found = told(HOURLY, root.settings, [parse_duration(delay)])
    [row] = [row for row in cells(found) if "(now)" not in row[0]]
    assert row[4] == f"{final} behind its end"


def test_a_watermark_is_of_whole_milliseconds_and_not_before_1970():
    delay = timedelta(milliseconds=1)
    assert [watermark(newest, delay) for newest in (0, 999, 2_999, 3_000)] == [0, 0, 1_000, 2_000]
    assert of_rows(delay)(2_999) == 1_001, "the watermark itself is late"
