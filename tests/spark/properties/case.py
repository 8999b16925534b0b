"""A generated case: records in the order they are sent, and ways to cut them into batches."""

from collections import Counter
from datetime import timedelta
from typing import Literal, NamedTuple

from hypothesis import strategies as st

from spark_jobs.spec import State
from tests.harness.moments import EPOCH, MICROSECOND
from tests.harness.replay import Place
from tests.spark.properties.events import (
    AHEAD,
    MALFORMED,
    Event,
    Record,
    events,
    good,
    mostly,
    premature,
)

MOST = 60
"""Records in a case: enough for 50 batches of one or two."""
PROVIDERS: tuple[Literal["rocksdb", "hdfs"], ...] = ("rocksdb", "rocksdb", "hdfs")
Crash = Literal["none", "uncommitted", "unaccounted"]


class Drain(NamedTuple):
    """One run: it finds the records up to `upto`, and reads at most `most` in a batch.

    Before the next run `crash` undoes what a kill would have left undone: `uncommitted`, the last
    batch's commit in the checkpoint, though its rows are in the table; `unaccounted`, that and the
    account of the run.
    """

    upto: int
    most: int | None = None
    crash: Crash = "none"


class Case(NamedTuple):
    """`delay` is the watermark's; `in_order` says that no record comes later than it allows."""

    records: tuple[Record, ...]
    partitions: int
    delay: timedelta
    state: State
    in_order: bool
    batchings: tuple[tuple[Drain, ...], ...]

    @property
    def places(self) -> list[Place]:
        """Where each record lies once it is sent."""
        sent: Counter[int] = Counter()
        found = []
        for record in self.records:
            found.append((record.partition, sent[record.partition]))
            sent[record.partition] += 1
        return found

    @property
    def after_the_epoch(self) -> bool:
        """Before there is a watermark, Spark's is the epoch."""
        return all(record.event.at_us > 0 for record in self.records if record.event)

    @property
    def is_messy(self) -> bool:
        """Long, with records of every kind, some of one event_id, and perhaps some late."""
        ids = [
            record.event.event_id
            for record in self.records
            if record.event and record.kind == "good"
        ]
        kinds = {record.kind for record in self.records}
        return (
            len(self.records) >= 20
            and len(kinds) == 3
            and len(set(ids)) < len(ids)
            and self._overtaken != self.in_order
        )

    @property
    def _overtaken(self) -> bool:
        """Whether a record comes after one newer by more than the delay: late in batches of one."""
        newest_us = 0
        for record in self.records:
            if record.event and record.kind == "good":
                if record.event.at_us + self.delay // MICROSECOND < newest_us:
                    return True
                newest_us = max(newest_us, record.event.at_us)
        return False

    @property
    def has_many_times(self) -> bool:
        """Whether there is something in it to be cut into many batches."""
        return len({record.event.event_time for record in self.records if record.event}) > 15

    def __repr__(self) -> str:
        lines = [
            f"{len(self.records)} records, {self.partitions} partitions, delay {self.delay}, "
            f"in_order={self.in_order}, "
            f"state in {self.state.shuffle_partitions} {self.state.provider}"
        ]
        lines += [
            f"  {place[0]}/{place[1]} {record}"
            for place, record in zip(self.places, self.records, strict=True)
        ]
        return "\n".join([*lines, *(f"  batching {batching}" for batching in self.batchings)])


def _sendings(delay: timedelta) -> st.SearchStrategy[tuple[Record, int]]:
    """A record, and for how much of the delay it is held back on its way, in thousandths."""
    partition = st.integers(0, 1)
    ahead = st.sampled_from((timedelta(), timedelta(), -timedelta(days=1), AHEAD))
    usual = st.builds(good, events(), partition, ahead, st.sampled_from((0, 0, 330, -480)))
    early = st.builds(
        premature, events().filter(lambda event: event.event_time > EPOCH + 2 * AHEAD), partition
    )
    broken = st.builds(
        lambda p, value: Record("malformed", p, None, value, 1_582_934_400_000),
        partition,
        st.sampled_from(MALFORMED),
    )
    return st.tuples(mostly(usual, 14, early, broken), st.sampled_from((0, 0, 1, 500, 999)))


@st.composite
def cases(draw, *, one_time_an_id, ways, in_order=None) -> Case:
    """`one_time_an_id`: records of one event_id say the same time; `in_order`: or by chance."""
    delay = draw(
        st.sampled_from(
            (
                timedelta(minutes=10),
                timedelta(milliseconds=1),
                timedelta(hours=2),
                timedelta(days=400),
            )
        )
    )
    partitions = draw(st.integers(1, 2))
    in_order = draw(st.booleans()) if in_order is None else in_order
    least = draw(st.sampled_from((1, 12, 40)))
    sent = draw(st.lists(_sendings(delay), min_size=least, max_size=MOST))
    again = draw(st.lists(st.tuples(st.integers(0, MOST), st.integers(0, MOST)), max_size=8))
    for original, at in again:
        sent.insert(at % (len(sent) + 1), sent[original % len(sent)])
    settled = _settle(sent, partitions, one_time_an_id=one_time_an_id)
    if in_order:
        partitions = 1
        settled = [(record._replace(partition=0), held) for record, held in settled]
        settled.sort(key=lambda one: _arrival(one[0], one[1], delay))
    records = tuple(record for record, _ in settled[:MOST])
    batchings = tuple(draw(way(len(records))) for way in ways)
    state = State(
        provider=draw(st.sampled_from(PROVIDERS)),
        shuffle_partitions=draw(st.sampled_from((1, 1, 2))),
        budget_rows=10_000,
    )
    return Case(records, partitions, delay, state, in_order, batchings)


def _settle(sent, partitions, *, one_time_an_id) -> list[tuple[Record, int]]:
    """Records of one event_id go to one partition, as by a key: their order is then known."""
    known: dict[str, tuple[int, Event]] = {}
    settled = []
    for record, held in sent:
        event = record.event
        if event is None or record.kind != "good":
            settled.append((record._replace(partition=record.partition % partitions), held))
            continue
        partition, first = known.setdefault(event.event_id, (record.partition % partitions, event))
        wrong = one_time_an_id and event.event_time != first.event_time
        made = good(event._replace(event_time=first.event_time), partition) if wrong else record
        settled.append((made._replace(partition=partition), held))
    return settled


def _arrival(record: Record, held: int, delay: timedelta) -> int:
    at = record.event.at_us if record.event else record.kafka_ms * 1000
    return at + delay // MICROSECOND * held // 1000
