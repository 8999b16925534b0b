"""Fates: what became of each late record of the ranges, and of each that a replay brings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from spark_jobs.analysis.ranged import Ranged
from spark_jobs.repair.find.late import LateRecord
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.repair.find.quarantine import Replayable
from spark_jobs.repair.manifest import MergedRecord
from spark_jobs.source.union import id_of

Places = set[tuple[int, int]]
"""Partition and offset of records."""


def places(observed: Iterable[Any]) -> Places:
    """Of an array<struct<partition, offset>>."""
    return {(place["partition"], place["offset"]) for place in observed}


def fates(
    way: Ranged, plan: RepairPlan, late: Iterable[LateRecord], entered: Places, kept: Places
) -> tuple[MergedRecord, ...]:
    """Of each of these records all of whose rows are computed: merged, duplicate or filtered.

    A record in several sliding windows waits until a repair has computed all that it lacks in.
    """

    def of(
        source: Literal["late", "quarantine"], records: Iterable[LateRecord | Replayable]
    ) -> Iterator[MergedRecord]:
        for record in records:
            touched = way.touched(record.event_time, record.missed)
            rows = way.rows_of(touched)
            if any(s.start <= rows.start and rows.end <= s.end for s in plan.spans):
                yield MergedRecord(
                    topic_id=id_of(plan.topic_id, record.partition),
                    partition=record.partition,
                    offset=record.offset,
                    source=source,
                    fate=_fate((record.partition, record.offset), entered, kept),
                    position=touched.start,
                    event_time=record.event_time,
                )

    return (*of("late", late), *of("quarantine", plan.replays))


def _fate(place: tuple[int, int], entered: Places, kept: Places) -> str:
    if place in kept:
        return "merged"
    return "duplicate" if place in entered else "filtered"
