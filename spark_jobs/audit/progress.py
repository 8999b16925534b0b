"""Progress: Spark's StreamingQueryProgress of a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from itertools import islice
from operator import add, or_
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from spark_jobs.messages.report import StateUse
from spark_jobs.ops.operator_metrics import REPORTED
from spark_jobs.steps.capture import CLASSIFIED_SEEN, ENTERED_SEEN, seen
from spark_jobs.steps.chain import KEYS_COUNTED, keys_observation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spark_jobs.spec.steps.step import Step


Event = dict[str, Any]
"""A StreamingQueryProgress as parsed from its JSON."""


class OperatorProgress(NamedTuple):
    """Metrics of one stateful operator in one batch (Spark's StateOperatorProgress)."""

    name: str
    reported: Mapping[str, int]
    """ops/operator_metrics.py REPORTED. numRowsTotal is absent of a GroupState in buckets where the
    batch has visited none, and where StateRows cannot tell it.
    """
    custom: Mapping[str, int]
    """All of its customMetrics: the operator's and its state store's."""
    dropped_before: int = 0
    """Late rows that the operators before it dropped, where several are one step."""

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Self:
        """From its JSON."""
        return cls(
            event["operatorName"],
            {name: int(event[name]) for name in REPORTED},
            event.get("customMetrics") or {},
        )

    def with_keys(self, counted: Mapping[str, Any] | None) -> Self:
        """With these counts of keys in the place of Spark's, which are of buckets: an observation
        as JSON. None for a step that is not in buckets, whose own counts stay.
        """
        if counted is None:
            return self
        reported = dict(self.reported)
        for name, metric in KEYS_COUNTED.items():
            reported[metric] = int(counted.get(name) or 0)
        return self._replace(reported=reported).with_rows(counted.get("keys"))

    def with_rows(self, total: int | None) -> Self:
        """With so many rows in its state; None: nobody knows."""
        reported = {k: v for k, v in self.reported.items() if k != "numRowsTotal"}
        known = {} if total is None else {"numRowsTotal": int(total)}
        return self._replace(reported={**known, **reported})

    def with_one_before(self, other: OperatorProgress) -> Self:
        """Both as one: the same step's."""
        added = {name: count + other.reported.get(name, 0) for name, count in self.reported.items()}
        same = {"numShufflePartitions": self.reported["numShufflePartitions"]}
        custom = Counter(self.custom)
        custom.update(other.custom)
        before = other.reported["numRowsDroppedByWatermark"]
        return self._replace(reported=added | same, custom=custom, dropped_before=before)

    @property
    def gained(self) -> int:
        """The rows that it put into its state, less those that it removed."""
        return self.reported["numRowsUpdated"] - self.reported["numRowsRemoved"]

    @property
    def duplicates(self) -> int:
        """Rows that a deduplication dropped."""
        return int(self.custom.get("numDroppedDuplicateRows", 0))

    @property
    def stored_bytes(self) -> int:
        """Bytes of its state: memory, and RocksDB's files."""
        return self.reported["memoryUsedBytes"] + int(self.custom.get("rocksdbSstFileSize") or 0)


class OfTopic(NamedTuple):
    """What Spark saw of one topic in one batch. Two counts of its own: its source's, and the
    expressions' behind the decoder.
    """

    read: int
    classified: Mapping[str, Any]
    entered: Mapping[str, Any]
    """Observed metrics as steps/capture.py has them; empty of no records."""

    @classmethod
    def of(cls, event: Event, number: int) -> Self:
        """From the batch's JSON."""
        observed = event.get("observedMetrics") or {}
        return cls(
            event["sources"][number]["numInputRows"],
            *(observed.get(seen(name, number)) or {} for name in (CLASSIFIED_SEEN, ENTERED_SEEN)),
        )

    @property
    def newest_us(self) -> int | None:
        """The largest event time of what entered, in microseconds since the epoch."""
        return self.entered.get("last_event_us")


ENDS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "first_event_us": min,
    "last_event_us": max,
    "rules": or_,
}


def _together(of: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for seen_of in of:
        for name, what in seen_of.items():
            if what is not None:
                join = ENDS.get(name, add)
                found[name] = join(found[name], what) if name in found else what
    return found


class Progress(NamedTuple):
    """One batch's StreamingQueryProgress."""

    batch_id: int
    seconds: float
    read: int
    observed: dict[str, dict[str, Any]]
    """Name of an observed metric -> its fields as JSON: numbers, and under `kept` a list of
    records. What was seen of each topic (steps/capture.py) is there of all too.
    """
    operators: tuple[OperatorProgress, ...]
    """In the order of the pipeline's steps; Spark lists them from the last to the first."""
    repeated: bool = False
    """Whether a stage may have run more than once, so that counts may be too high."""
    topics: tuple[OfTopic, ...] = ()
    """By the topics' numbers."""

    @classmethod
    def of(cls, event: Event) -> Self:
        """From its JSON."""
        topics = tuple(OfTopic.of(event, n) for n in range(len(event.get("sources") or ())))
        observed = event.get("observedMetrics") or {}
        if len(topics) > 1:
            observed |= {
                CLASSIFIED_SEEN: _together(topic.classified for topic in topics),
                ENTERED_SEEN: _together(topic.entered for topic in topics),
            }
        operators = tuple(
            OperatorProgress.of(operator).with_keys(observed.get(keys_observation(number)))
            for number, operator in enumerate(reversed(event["stateOperators"]))
        )
        seconds = event["durationMs"].get("triggerExecution", 0) / 1000
        return cls(
            event["batchId"], seconds, event["numInputRows"], observed, operators, topics=topics
        )

    def by_step(self, steps: Iterable[Step]) -> Iterator[OperatorProgress | None]:
        """What each of these steps did in Spark, the several operators of one together; None of a
        step without state, and if it did not report. From the first step with state on.
        """
        operators = iter(self.operators)
        for step in steps:
            of = list(islice(operators, step.operators))
            yield reduce(lambda before, last: last.with_one_before(before), of) if of else None

    @property
    def state(self) -> StateUse | None:
        """Rows and bytes in all stores; None if the batch reported no operator, or visited none of
        a step's buckets (it had no data and moved nothing).
        """
        counts = [operator.reported.get("numRowsTotal") for operator in self.operators]
        rows = [count for count in counts if count is not None]
        if not rows or len(rows) < len(counts):
            return None
        return StateUse(
            rows=sum(rows),
            open=rows[-1],
            bytes=sum(operator.stored_bytes for operator in self.operators),
        )

    @property
    def dropped(self) -> int:
        """Late rows that all operators dropped; an aggregation counts groups."""
        return sum(operator.reported["numRowsDroppedByWatermark"] for operator in self.operators)

    @property
    def rules(self) -> dict[str, int]:
        """The records that fail each rule (steps/by_rules.py)."""
        return dict(self.observed.get(CLASSIFIED_SEEN, {}).get("rules") or {})

    def captured(self, name: str) -> list[dict[str, Any]]:
        """The raw records observed under that name: the structs of steps/capture.py as JSON."""
        return list(self.observed.get(name, {}).get("kept") or ())

    def counted(self, name: str, field: str) -> int:
        """An observed count; 0 if the batch had no rows to observe."""
        return int(self.observed.get(name, {}).get(field) or 0)
