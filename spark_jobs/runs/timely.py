"""Timely: the state metrics that change while nothing happens: how old the newest accepted record
is, and how many came beside the weeks before.

A plan asks them too: a topic that gives nothing must not keep its checks from failing.

ops.batches says what each run has accepted. Its records came since the run before: they count
evenly in that time. Of the first run of a generation nobody knows since when they came: a first
load, or what a rewind reads again. That time is not known, and is compared with nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.ops import ops_tables
from spark_jobs.spec.analysis.state_checks import state_checks_of
from spark_jobs.spec.checks.check import AGES, TIMELY
from spark_jobs.spec.checks.timely import SPANS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.checkpoint.notes.cursor import Cursor
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths

WEEK = timedelta(weeks=1)
WEEKS = 4


class Accepted(NamedTuple):
    """Records of a run, which came in (since, until]."""

    since: datetime
    until: datetime
    records: int


class Compared(NamedTuple):
    """The records now, as a share of the median before; None without one, and why."""

    share: float | None
    told: str


def by_run(paths: Paths, known: Identity, now: datetime) -> list[Accepted]:
    """What each run has accepted that matters to a comparison. Since the last one nothing came."""
    ours = ops_tables.of_checkpoint(paths.pipeline, known.generations)
    rows = ops_tables.query(
        paths.root,
        "batches",
        "WITH runs AS (SELECT generation, run_id, min(batch_id) AS first, sum(accepted) AS records,"
        f" max(audited_at) AS until FROM batches WHERE {ours} GROUP BY generation, run_id), "
        "spans AS (SELECT until, records, "
        "lag(until) OVER (PARTITION BY generation ORDER BY first) AS since FROM runs) "
        "SELECT since, until, records FROM spans "
        f"WHERE until > TIMESTAMP '{(now - (WEEKS + 2) * WEEK).isoformat()}' "
        f"AND until <= TIMESTAMP '{now.isoformat()}' ORDER BY until",
    ).to_pylist()
    found = [Accepted(**row) for row in rows if row["since"] is not None]
    return [*found, Accepted(rows[-1]["until"], now, 0)] if rows else []


def compared(
    accepted: list[Accepted], span: timedelta, now: datetime, passed: datetime | None = None
) -> Compared:
    """Of the records in the span before the last run, or before where an earlier week had read by
    now. Since `passed` where that was earlier; a week at most.
    """
    if not accepted:
        return Compared(None, "not compared: no run has read yet")
    last = accepted[-1].since
    end = max(_ends([*(each.until for each in accepted[:-1]), last], now))
    start = max(min(end - span, passed or end), end - WEEK)
    found = _records(accepted, start, end)
    earlier = [
        _records(accepted, start - ago, end - ago, last - ago, now - ago) for ago in _weeks()
    ]
    known = [count for count in earlier if count is not None]
    told = f"from {start:%F %H:%M} to {end:%F %H:%M} UTC"
    if found is None or len(known) < WEEKS:
        return Compared(None, f"not compared: {len(known)} of {WEEKS} weeks are known {told}")
    usual = median(known)
    told = (
        f"{found:,.0f} records were accepted {told}; the median of these hours of the last {WEEKS} "
        f"weeks is {usual:,.0f} ({', '.join(f'{count:,.0f}' for count in known)})"
    )
    return Compared(found / usual, told) if usual else Compared(None, f"not compared: {told}")


def _weeks() -> Iterator[timedelta]:
    return (n * WEEK for n in range(1, WEEKS + 1))


def _ends(read: list[datetime], now: datetime) -> Iterator[datetime]:
    yield from read
    yield from (until + ago for ago in _weeks() for until in read if until + ago <= now)


def _records(
    accepted: Iterable[Accepted],
    start: datetime,
    end: datetime,
    last: datetime | None = None,
    then: datetime | None = None,
) -> float | None:
    """None unless the runs tell of all of that time. Of a run that had not ended `then`, only what
    came until `last`.
    """
    known, records = timedelta(), 0.0
    for each in accepted:
        since = max(each.since, start)
        if (shared := min(each.until, end) - since) > timedelta():
            known += shared
            if last and then and each.until > then:
                shared = max(min(shared, last - since), timedelta())
            records += each.records * (shared / (each.until - each.since))
    return records if known == end - start else None


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
