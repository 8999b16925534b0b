"""Plan: what a drain would do, without a JVM. Airflow's first task and `sluice plan` use it."""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint import no_data_batch
from spark_jobs.checkpoint.added_topics import with_new_topics
from spark_jobs.checkpoint.identity import Present, read_superseded
from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.notes.begun import under_way
from spark_jobs.errors import LeaseHeld
from spark_jobs.registry.fingerprint.fields import in_force
from spark_jobs.registry.root_by_name import refuse_elsewhere
from spark_jobs.runs.lag import silent_topics
from spark_jobs.runs.preflight import Preflight, cut, preflight
from spark_jobs.runs.publish import publication
from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.resume.anew import anew_due
from spark_jobs.runs.timely import overdue, timely
from spark_jobs.runs.told import plan_lines
from spark_jobs.settings.installation import Settings
from spark_jobs.source.port import ends_of
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline
from spark_jobs.storage.object_store import require_writable
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table import history

NOTHING_TO_DO = "nothing to do: all that Kafka gives to readers is drained and accounted for"
"""Records may wait all the same, which Kafka gives to none yet: an open transaction's, and all
behind its first.
"""
BLOCKED = "nothing to do now: all that waits is behind an open transaction"


class Plan(BaseModel):
    """The work of the next drain. `reasons` is empty if there is none; `lines` are for printing."""

    model_config = ConfigDict(frozen=True)

    pipeline: str
    new_offsets: int
    reasons: tuple[str, ...]
    to_publish: int | None = None
    """The table version that passed the checks, which consumers were not told or the published
    table does not show; None if there is none.
    """
    lines: tuple[str, ...]

    @property
    def idle(self) -> bool:
        return not self.reasons


def plan(spec: Pipeline, settings: Settings, announced: Announced | None = None) -> Plan:
    """Look for work and write nothing.

    Raises LeaseHeld if another run works, and all errors of the preflight.

    `announced`: the newest asset event, if the caller knows it.
    """
    paths = Paths(settings.root, spec)
    require_writable(paths)
    held = holder(paths.lease)
    if held:
        raise LeaseHeld.held(folder=paths.lease.parent, holder=held)
    refuse_elsewhere(spec, paths)
    if note := under_way(paths):
        return _completes(spec, f"{note.words}, begun {note.at:%F %H:%M} UTC by {note.by}")
    spec = with_new_topics(spec, settings)
    now = Present(spec)
    if anew := anew_due(now, paths):
        return Plan(pipeline=spec.name, new_offsets=0, reasons=(anew.line,), lines=(anew.line,))
    found, _ = cut(
        preflight(now, source_of(spec, settings), paths, settings), ends_of(spec, paths), settings
    )
    ours = in_force(spec, found.identity.fingerprint)
    done = found.topic.begins | found.checkpoint.done()
    new = done.counts(found.topic.latest)
    clock = _clock(ours, found, settings, done)
    reasons = (
        (*found.topic.to_note, *_unfinished(found, paths, sum(new.values())))
        or _due(ours, found, clock)
        or tuple(overdue(ours, timely(ours, paths, found.identity, found.cursor, clock.now)))
    )
    to_publish = publication.to_publish(paths, spec, announced)
    return Plan(
        pipeline=spec.name,
        new_offsets=sum(new.values()),
        reasons=reasons,
        to_publish=to_publish,
        lines=(
            *plan_lines.lines(ours, found, settings, paths, done, new),
            *(plan_lines.beside_lines(ours, settings, found) if reasons else ()),
            *plan_lines.of_topics(ours, clock, new),
            *filter(None, (no_data_batch.clock_ahead(ours, clock),)),
            *plan_lines.of_publication(to_publish, paths),
            *(reasons or (BLOCKED if found.topic.held else NOTHING_TO_DO,)),
        ),
    )


def _completes(spec: Pipeline, begun: str) -> Plan:
    """Until that is done, nobody can tell what else there is to do."""
    reason = f"{begun}, has not ended: the run completes it or takes it back, then drains"
    lines = (f"{spec.name}: state version {spec.state.version}", reason)
    return Plan(pipeline=spec.name, new_offsets=0, reasons=(reason,), lines=lines)


def _unfinished(found: Preflight, paths: Paths, new_offsets: int) -> tuple[str, ...]:
    reasons = [f"{new_offsets} new offsets to read"] if new_offsets else []
    planned, committed, judged = (
        found.checkpoint.planned(),
        found.checkpoint.committed(),
        found.cursor.judged,
    )
    if planned and planned[-1:] != committed[-1:]:
        reasons.append(f"batch {planned[-1]} was begun and not committed: it will be run again")
    elif committed and judged < committed[-1]:
        which = f"batches {judged + 1} to {committed[-1]}"
        reasons.append(
            f"{which} have not passed the checks yet: they will be accounted for and judged"
        )
    elif committed:
        reasons += _of_nobodys_verdict(found, paths)
    if read_superseded(paths):
        reasons.append("rejected records of before the spec changed are not taken out yet")
    return tuple(reasons)


def _of_nobodys_verdict(found: Preflight, paths: Paths) -> tuple[str, ...]:
    judged, table = found.cursor.judged_table_version, found.target.table
    newest = table.version()
    if paths.is_archive or judged is None or newest <= judged:
        return ()
    if not history.rows_changed(table, judged, newest):
        return ()
    return (f"versions {judged + 1} to {newest} of the table have not passed the checks yet",)


def _clock(
    spec: Pipeline, found: Preflight, settings: Settings, done: Positions
) -> no_data_batch.Clock:
    source, now, latest = source_of(spec, settings), datetime.now(UTC), found.topic.latest
    newest = source.newest(latest.partitions) if spec.close_after else None
    silent = silent_topics(spec, source, found.topic, done, now)
    cursor = found.cursor
    return no_data_batch.Clock(
        now, newest, cursor.state.rows, topics=dict(cursor.newest), silent=silent
    )


def _due(spec: Pipeline, found: Preflight, clock: no_data_batch.Clock) -> tuple[str, ...]:
    due = no_data_batch.due(spec, found.checkpoint, clock)
    return (f"a batch without data: {due.reason}",) if due else ()
