"""`sluice tune`: what each delay would have cost, against a naive replay of the records."""

import json
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from spark_jobs.errors import QuestionRefused
from spark_jobs.messages.report import Account
from spark_jobs.spec import Pipeline, Sliding, Tumbling
from spark_jobs.spec.analysis.late_rule import of_rows, watermark
from spark_jobs.spec.analysis.lateness import late_for_certain
from spark_jobs.spec.duration import parse_duration
from spark_jobs.tune import shares
from spark_jobs.tune.batches import Slice, Timed
from spark_jobs.tune.shares import undecided
from spark_jobs.tune.tell import behind, cells, lines, told
from spark_jobs.values.spans import EPOCH, MICROSECOND
from tests.harness.refused import fails
from tests.harness.roots import NOON, ROOT, Root
from tests.unit.specs import aggregate, pipeline

MINUTE = 60_000_000
START = (NOON - EPOCH) // MICROSECOND
SIZE = 3
"""Offsets of a slice."""
ROWS = pipeline(watermark_delay="1 hour")
HOURLY = pipeline(watermark_delay="1 hour", steps=(aggregate(),))
SLIDING = HOURLY.model_copy(
    update={"steps": (aggregate(window=Sliding(size="1 hour", slide="25 minutes"), counts=None),)}
)
DELAYS = ("1 minute", "20 minutes", "1 hour", "90 minutes", "5 hours")


class Sent(NamedTuple):
    """A record, by its event time in microseconds."""

    at: int
    became: str = "entered"


def first_end(spec: Pipeline, at: int) -> int:
    """Of the first window that contains it; its own time of rows that are dropped one by one."""
    window = spec.steps[0].grouping_window
    if window is None:
        return at
    size = window.size // MICROSECOND
    slide = size if isinstance(window, Tumbling) else window.slide // MICROSECOND
    return next(
        n * slide + size for n in range((at - 2 * size) // slide, at) if n * slide + size > at
    )


def marks(batches: list[list[Sent]], delay: timedelta) -> list[int]:
    """The watermark behind which each batch's records are late."""
    found, newest = [], [0, 0]
    for batch in batches:
        found.append(max(0, newest[-2] // 1000 * 1000 - delay // MICROSECOND))
        times = [each.at for each in batch if each.became == "entered"]
        newest.append(max([newest[-1], *times]))
    return found


def late(spec: Pipeline, batches: list[list[Sent]], delay: timedelta) -> int:
    return sum(
        each.became == "entered" and first_end(spec, each.at) <= mark
        for batch, mark in zip(batches, marks(batches, delay), strict=True)
        for each in batch
    )


def drained(folder: str | Path, spec: Pipeline, batches: list[list[Sent]], days: float = 0) -> Root:
    """What the account of these batches leaves in the ops tables."""
    root = Root(Path(folder) / ROOT, spec)
    root.paths.ensure_writable()
    root.identified("g1")
    offset = 0
    in_force = marks(batches, spec.watermark_delay)
    for number, (batch, mark) in enumerate(zip(batches, in_force, strict=True)):
        known = {
            "pipeline": spec.name,
            "generation": "g1",
            "batch_id": number,
            "run_id": f"r{number}",
        }
        entered = [each for each in batch if each.became == "entered"]
        missed = [each for each in entered if first_end(spec, each.at) <= mark]
        certain = late_for_certain(spec, mark // 1000)
        counts = Account(
            covered=len(batch), read=len(batch), late=len(missed),
            accepted=len(entered) - len(missed),
            **{kind: sum(each.became == kind for each in batch) for kind in ("malformed", "filtered")},
        )  # fmt: skip
        times = [at(each.at) for each in entered]
        following = [*in_force, 0][number + 1]
        root.put(
            "batches",
            known
            | {
                "offsets_start": json.dumps({0: offset}),
                "offsets_end": json.dumps({0: offset + len(batch)}),
            }
            | {
                "first_event_time": min(times, default=None),
                "last_event_time": max(times, default=None),
            }
            | {
                "late_before": at(mark) if mark else None,
                "watermark": at(following) if following else None,
            }
            | {"audited_at": NOON + timedelta(days=days * number, hours=number)}
            | {"operators": [{"step": 0, "numRowsTotal": 10 * number}]}
            | counts.row(),
        )
        if missed:
            of = [
                known | {"partition": 0, "offset": n, "event_time": at(each.at)}
                for n, each in enumerate(missed)
            ]
            root.put("late", *of)
        for first in range(0, len(batch), SIZE):
            some = batch[first : first + SIZE]
            seen = [each.at for each in some if each.became != "malformed"]
            left_out = [each for each in seen if certain is not None and each <= certain * 1000]
            timed = sorted({*seen} - {*left_out})
            root.put(
                "slices",
                known
                | {
                    "partition": 0,
                    "first_offset": offset + first,
                    "last_offset": offset + first + len(some) - 1,
                }
                | {"records": len(some), "late": len(left_out)}
                | {"first_event_time": at(timed[0]) if timed else None}
                | {"last_event_time": at(timed[-1]) if timed else None},
            )
        offset += len(batch)
    return root


def at(micros: int) -> Any:
    return EPOCH + micros * MICROSECOND


RECORDS = st.builds(
    Sent,
    st.integers(0, 600).map(lambda minute: START + minute * MINUTE)
    | st.integers(0, 600 * MINUTE).map(lambda micros: START + micros),
    st.sampled_from(["entered"] * 6 + ["malformed", "filtered"]),
)
BATCHES = st.lists(st.lists(RECORDS, max_size=7), min_size=1, max_size=5)


@pytest.mark.parametrize("spec", [ROWS, HOURLY, SLIDING], ids=["rows", "windows", "sliding"])
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(batches=BATCHES)
@example(
    batches=[
        [Sent(START)],
        [],
        [Sent(START - MINUTE * 61), Sent(START - 60 * MINUTE)],
        [Sent(START)],
    ]
)
def test_the_late_records_are_those_of_a_replay_or_within_the_bounds(spec, batches):
    delays = [parse_duration(each) for each in DELAYS]
    entered = sum(each.became == "entered" for batch in batches for each in batch)
    with TemporaryDirectory() as folder:
        root = drained(folder, spec, batches)
        if not entered:
            with fails(QuestionRefused, "no_batches"):
                told(spec, root.settings, delays)
            return
        found = told(spec, root.settings, delays)
    assert found.entered == entered
    assert found.was_late == late(spec, batches, spec.watermark_delay)
    for price in found.prices:
        truth = late(spec, batches, price.delay)
        assert price.late.least <= truth <= price.late.most <= entered, price
        assert price.late.exact or price.delay < spec.watermark_delay
    ordered = [(price.late.least, price.late.most) for price in found.prices]
    assert [each[1] for each in ordered] == sorted((each[1] for each in ordered), reverse=True)
    assert [*lines(found, spec.name), *behind(found)]
    assert len(cells(found)[1]) == len(DELAYS)


KINDS = st.sampled_from(["entered"] * 4 + ["malformed", "filtered"])
SOME = st.lists(st.builds(Sent, st.integers(0, 12), KINDS), min_size=1, max_size=9)


@example([Sent(0, "filtered"), Sent(5)], 0, 0, 3, 2)
@example([Sent(1), Sent(5), Sent(6)], 2, 3, 4, 3)
@settings(max_examples=400)
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
            made = Slice(
                0,
                number * size,
                number * size + size - 1,
                len(part) - len(certain),
                min(times),
                max(times),
            )
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
        assert bounds.exact
    some = {each: read[each] for each in wanted}
    exact = shares.late(batch, lambda _: first, some)
    assert exact[:2] == (truth, truth)
    plain = not row["malformed"] and not row["filtered"] and uncertain == 0
    if plain and all(each.last < first or first <= each.first for each in slices):
        assert bounds.exact
    lost = batch._replace(late=late_ones[1:])
    assert shares.late(lost, lambda _: first, some).least <= truth
    assert truth <= shares.late(lost, lambda _: first, some).most


def test_a_watermark_is_of_whole_milliseconds_and_not_before_1970():
    delay = timedelta(milliseconds=1)
    assert [watermark(newest, delay) for newest in (0, 999, 2_999, 3_000)] == [0, 0, 1_000, 2_000]
    assert of_rows(delay)(2_999) == 1_001, "the watermark itself is late"
