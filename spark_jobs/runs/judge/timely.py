"""Timely: the state metrics that change while nothing happens: how old the newest accepted record
is, and how many came beside the weeks before.

A plan asks them too: a topic that gives nothing must not keep its checks from failing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.ops import ops_tables
from spark_jobs.runs.judge.volume import by_run, compared
from spark_jobs.spec.analysis.state_checks import state_checks_of
from spark_jobs.spec.checks.timely import AGES, SPANS, TIMELY

if TYPE_CHECKING:
    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.checkpoint.notes.cursor import Cursor
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths


class Metric(NamedTuple):
    """One of them."""

    value: float | None
    told: str
    """What a person should know of it, with its numbers."""


def timely(
    spec: Pipeline,
    paths: Paths,
    known: Identity,
    cursor: Cursor,
    now: datetime,
    bounded_by: str = "",
) -> dict[str, Metric]:
    """Those that a check of the spec names, by name. `bounded_by`: the limit that ended the run.

    None of what a rebuild drains beside the live place: that runs when a person says so.
    """
    asked = {name for check in state_checks_of(spec) for name in check.columns if name in TIMELY}
    if not asked or paths.place.beside:
        return {}
    found = dict[str, Metric]()
    if (name := AGES["run"]) in asked:
        newest = _accepted(paths, known, now)
        found[name] = _age(newest, now, "a run has accepted records until")
    if bounded_by:
        unread = Metric(None, f"not compared: {bounded_by} ended the run, and records wait")
        return dict.fromkeys(asked, unread) | found
    if (name := AGES["event_time"]) in asked:
        found[name] = _age(cursor.last_event_time, now, "the newest event is of")
    volumes = sorted(asked & SPANS.keys())
    accepted = by_run(paths, known, now) if volumes else []
    waits = cursor.audited > cursor.judged
    ours = ops_tables.of_checkpoint(paths.pipeline, known.generations)
    passed = _newest(paths, f"{ours} AND batch_id = {cursor.judged}") if waits else None
    for name in volumes:
        found[name] = Metric(*compared(accepted, SPANS[name], now, passed))
    return found


def overdue(spec: Pipeline, found: Mapping[str, Metric]) -> Iterator[str]:
    """A line for each that is out of the bounds of a check."""
    for check in state_checks_of(spec):
        for name in check.columns:
            value, told = found.get(name, Metric(None, ""))
            least, most = (check.kwargs.get(bound) for bound in ("min_value", "max_value"))
            if value is not None and not _inside(value, least, most):
                yield f"the check of {name} does not pass any more: {told}"


def _inside(value: float, least: Any, most: Any) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)


def _age(newest: datetime | None, now: datetime, what: str) -> Metric:
    if newest is None:
        return Metric(None, "no record was accepted yet")
    return Metric((now - newest).total_seconds(), f"{what} {newest:%F %H:%M:%S} UTC")


def _accepted(paths: Paths, known: Identity, now: datetime) -> datetime | None:
    """When the newest batch with an accepted record was; of a checkpoint that has none, such as
    behind a reset, of those before it. Not of a clock that was ahead of this one.
    """
    where = f"accepted > 0 AND audited_at <= TIMESTAMP '{now.isoformat()}'"
    ours = _newest(
        paths, f"{ops_tables.of_checkpoint(paths.pipeline, known.generations)} AND {where}"
    )
    return ours or _newest(paths, f"{ops_tables.equals({'pipeline': paths.pipeline})} AND {where}")


def _newest(paths: Paths, where: str) -> datetime | None:
    sql = f"SELECT max(audited_at) AS newest FROM batches WHERE {where}"
    [row] = ops_tables.query(paths.root, "batches", sql).to_pylist()
    newest: datetime | None = row["newest"]
    return newest
