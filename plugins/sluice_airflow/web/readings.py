"""Readings: what both a page and its JSON route read, beside the plain ops tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from fastapi import Depends, Query

from sluice_airflow.web import over_roots
from sluice_airflow.web.ops import installed
from sluice_airflow.web.reach import held
from sluice_airflow.web.rights import BytesWithheld, not_found
from sluice_airflow.web.withheld import of_record, of_rejected, of_run
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.live_spec import known_spec, live_spec
from spark_jobs.checkpoint.notes.partitions import Partitions, partitions_of
from spark_jobs.decode.seen import seen
from spark_jobs.errors import OpsUnreadable
from spark_jobs.messages.request import Request
from spark_jobs.messages.state_answer import StateAnswer, read_answer
from spark_jobs.ops import at_work as works, rejected as ops_rejected
from spark_jobs.ops.at_work import AtWork
from spark_jobs.ops.json_of_tables import BatchLine, Rejected, RunPage
from spark_jobs.ops.record_shown import RecordPage, Withheld
from spark_jobs.ops.rejected import Declared, Only, Table
from spark_jobs.overview import lines as overviews
from spark_jobs.overview.json_of_overview import Overview
from spark_jobs.pages.at_work import words
from spark_jobs.pages.growth import Growth, growth
from spark_jobs.pages.run_page import run_page, versions_of
from spark_jobs.prove.covered import covered as proved_coverage
from spark_jobs.registry import find as registry
from spark_jobs.repair.find.coverage import MOST_READ_BY_A_PAGE, Coverage
from spark_jobs.repair.find.ranges_due import Touched, touched
from spark_jobs.spec import Pipeline, Topic
from spark_jobs.spec.formats.format import JSON
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.spans import Span

if TYPE_CHECKING:
    from upath import UPath

MOST_ROWS: Final = 400
"""Intervals of one page of coverage. A range gives others."""
From = Annotated[
    str | None,
    Query(alias="from", max_length=40, description="a day, or a time with its zone"),
]
To = Annotated[
    str | None,
    Query(alias="to", max_length=40, description="the first instant that is not shown"),
]


class _Place(NamedTuple):
    """Where a rejected record is."""

    table: Table
    generation: str
    partition: int
    offset: int
    element: int | None


def _place(
    table: Annotated[Table, Query(description="late or quarantine")],
    generation: Annotated[str, Query(max_length=200, description="the checkpoint's generation")],
    partition: Annotated[int, Query(ge=0, le=2**31 - 1, description="the record's partition")],
    offset: Annotated[int, Query(ge=0, le=2**63 - 1, description="its offset")],
    element: Annotated[
        int | None, Query(ge=0, le=2**31 - 1, description="its number in its value")
    ] = None,
) -> _Place:
    return _Place(table, generation, partition, offset, element)


Place = Annotated[_Place, Depends(_place)]
Shown = Annotated[Table | None, Query(alias="table", description="one of the tables; else both")]


def _chosen(
    table: Shown = None,
    generation: Annotated[str | None, Query(max_length=200)] = None,
    partition: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
    offset: Annotated[int | None, Query(ge=0, le=2**63 - 1)] = None,
    element: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
) -> _Place | None:
    if table is None or generation is None or partition is None or offset is None:
        return None
    return _Place(table, generation, partition, offset, element)


Chosen = Annotated[_Place | None, Depends(_chosen)]


def _only(
    withheld: BytesWithheld,
    run_id: Annotated[str, Query(max_length=500, description="the run")] = "",
    kind: Annotated[
        str, Query(max_length=40, description="late: the step; quarantine: malformed or premature")
    ] = "",
    reason: Annotated[
        str,
        Query(max_length=300, description="the reason; counts for who may see values of records"),
    ] = "",
) -> Only:
    """Who may not see values could guess them by a reason."""
    return Only(run_id, kind, "" if withheld else reason)


Asked = Annotated[Only, Depends(_only)]


class KeptState(NamedTuple):
    """The last kept answer of `sluice state`."""

    answer: StateAnswer
    current: bool
    """Whether it is of the checkpoint's generation, and not from before a reset or a rewind."""

    def behind(self, live: Sequence[BatchLine]) -> int:
        """How many of these batches came since; oldest first."""
        return max(0, live[-1].batch - self.answer.batch) if live and self.current else 0


def overview(names: list[str]) -> Overview:
    """All of these pipelines, those in trouble first; also where there is nothing to read."""
    return over_roots.overview(names)


def wrong_with(pipeline: str) -> Overview:
    """The overview of this one. That a table cannot be read is a trouble here, and hides no other
    table's charts.
    """
    try:
        return overview([pipeline])
    except OpsUnreadable as error:
        return overviews.overview([overviews.unread(pipeline, None, error)])


def record(pipeline: str, place: _Place, withheld: Withheld | None) -> RecordPage:
    """One rejected record. Raises HTTPException: 404."""
    known = partitions(pipeline).inputs  # the record is there, whatever became of the spec
    topic = known.of_partition(place.partition) if known else None
    with installed(pipeline, kept=False) as root:
        declared = _declared(topic, root, place.element) if topic else Declared()
        found = ops_rejected.record(root, pipeline, place.table, place[1:], declared, withheld)
    if found is None:
        raise not_found()
    return of_record(found) if withheld else found


def partitions(pipeline: str) -> Partitions:
    """How people know the partitions."""
    with installed(pipeline) as root:
        return partitions_of(pipeline, str(root))


def _declared(topic: Topic, root: UPath, element: int | None) -> Declared:
    """JSON shows the fields that no spec declares, too."""
    of_json = partial(ops_rejected.of_json, declared=topic.keys_of_a_value)
    whole = topic.format == JSON and element is None
    read = of_json if whole else partial(seen, topic, root, element=element)
    return Declared(read, topic.types_of_headers)


def run(pipeline: str, run_id: str, withheld: Withheld | None) -> RunPage | None:
    """One run; None without it."""
    with installed(pipeline) as root:
        spec = known_spec(pipeline, str(root))
        found = run_page(root, pipeline, run_id, spec)
        if found:
            read = versions_of(spec, str(root), found.batches)
            found = found.model_copy(update={"beside": read})
    return of_run(found) if found and withheld else found


def at_work(pipeline: str) -> tuple[AtWork, ...]:
    """The drains that have not ended, in words too."""
    with installed(pipeline) as root:
        found = works.at_work(root, pipeline, datetime.now(UTC))
        spec = known_spec(pipeline, str(root)) if found else None
    return tuple(each.model_copy(update={"words": words(each, spec)}) for each in found)


def rejected(
    pipeline: str, table: Table, limit: int, offset: int, withheld: Withheld | None, only: Only
) -> Rejected:
    """Rejected records of a table."""
    with installed(pipeline) as root:
        found = ops_rejected.rejected(root, pipeline, table, limit, offset, only)
    return of_rejected(found) if withheld else found


def covered(pipeline: str, start: str | None, end: str | None) -> tuple[Coverage, str]:
    """The coverage; and why Kafka did not say which records it still has, empty if it did.

    Raises RangeInvalid, RangeUnsupported, RangeOpen, CheckpointForeign, CheckpointBroken.
    """
    given: dict[str, Any] = {"from": start or None, "to": end or None}
    bound = Request(**given).span
    spec = registry.load(pipeline)
    with installed(pipeline) as root:
        spec = live_spec(spec, str(root))
        paths = Paths(str(root), spec)
        kept, unasked = held(spec, _drained(paths))
        return proved_coverage(spec, paths, kept, bound, MOST_READ_BY_A_PAGE), unasked


def _drained(paths: Paths) -> tuple[int, ...]:
    audited = read_cursor(paths.cursor).audited
    return () if audited < 0 else Checkpoint(paths.checkpoint).batch(audited).end.partitions


def newest(found: Coverage) -> Coverage:
    """Its newest intervals, as many as a page shows."""
    more = max(0, len(found.intervals) - MOST_ROWS)
    return found.model_copy(
        update={"intervals": found.intervals[more:], "left_out": found.left_out + more}
    )


def older(found: Coverage) -> Span | None:
    """The range of the page before; None if nothing is left out."""
    if not found.left_out or not found.intervals:
        return None
    first = found.intervals[0]
    length: timedelta = first.end - first.start
    return Span(first.start, first.start).widened(MOST_ROWS * length, timedelta())


def to_repair(pipeline: str) -> Touched:
    """What a repair would touch now. Raises RangeUnsupported, CheckpointBroken."""
    spec = registry.load(pipeline)
    with installed(pipeline) as root:
        spec = live_spec(spec, str(root))
        return touched(spec, Paths(str(root), spec))


def state(pipeline: str, withheld: Withheld | None) -> KeptState | None:
    """The last kept state, without its rows if those are withheld; None without one."""
    spec = registry.load(pipeline)
    with installed(pipeline) as root:
        return _kept(root, live_spec(spec, str(root)), withheld)


class Remembered(NamedTuple):
    """The live spec, how its state grew, and the last kept answer."""

    spec: Pipeline
    growth: Growth
    kept: KeptState | None


def remembered(pipeline: str, withheld: Withheld | None) -> Remembered:
    """All that is known of the state, without Spark."""
    spec = registry.load(pipeline)
    with installed(pipeline) as root:
        spec = live_spec(spec, str(root))
        return Remembered(spec, growth(root, spec), _kept(root, spec, withheld))


def _kept(root: UPath, spec: Pipeline, withheld: Withheld | None) -> KeptState | None:
    paths = Paths(str(root), spec)
    found, identity = read_answer(paths), read_identity(paths)
    if found is None:
        return None
    current = identity is not None and identity.generation == found.generation
    return KeptState(found.without_rows() if withheld else found, current)
