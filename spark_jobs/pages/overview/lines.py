"""Lines: the overview of pipelines, from their readings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spark_jobs.errors import OpsUnreadable, SluiceError
from spark_jobs.messages.report import Problem
from spark_jobs.pages.overview import tables
from spark_jobs.pages.overview.json_of_overview import Overview, PipelineLine
from spark_jobs.pages.overview.notes import all_notes
from spark_jobs.pages.overview.reading import Due, Notes, Reading, Waits
from spark_jobs.pages.overview.troubles import TROUBLES, order, troubles

if TYPE_CHECKING:
    from upath import UPath


def lines(root: UPath, pipelines: Sequence[str], due: Mapping[str, Due]) -> list[PipelineLine]:
    """These pipelines of one root, in no order. `due`: what Airflow knows of their DAGs. Whose file
    of an ops table is damaged is found by halves, and hides no other.

    Raises OpsUnreadable for a table that cannot be read at all; RootRefused, RootUnreachable.
    """
    if not pipelines:
        return []
    try:
        return _lines(root, pipelines, due)
    except OpsUnreadable as error:
        if error.reason != "file_broken":
            raise
        if len(pipelines) == 1:
            return [unread(pipelines[0], due.get(pipelines[0]), error)]
    half = len(pipelines) // 2
    return lines(root, pipelines[:half], due) + lines(root, pipelines[half:], due)


def unread(pipeline: str, due: Due | None, why: SluiceError | None = None) -> PipelineLine:
    """One known only by Airflow."""
    notes = Notes(problem=Problem.of(why) if why else None)
    return _line(Reading(pipeline, datetime.now(UTC), notes, due=due), known=False)


def _lines(root: UPath, pipelines: Sequence[str], due: Mapping[str, Due]) -> list[PipelineLine]:
    now = datetime.now(UTC)
    notes = all_notes(root, pipelines)
    ran = tables.ran(root, pipelines)
    late, bad = (tables.kept(root, table, pipelines) for table in ("late", "quarantine"))
    waits = tables.waits(root, notes)
    warned = tables.warned(root, {name: each.last for name, each in ran.items()})
    found = []
    for name in pipelines:
        of = Reading(
            name,
            now,
            notes[name],
            *ran[name],
            waits.get(name, Waits()),
            warned.get(name, ()),
            due.get(name),
        )
        found.append(_line(of, late[name], bad[name], known=name in waits))
    return found


def overview(found: Sequence[PipelineLine], lacking: str | None = None) -> Overview:
    """All of them, what is wrong first. `lacking`: why nothing could be read of any."""
    counts = Counter(each.name for line in found for each in line.troubles)
    return Overview(
        at=datetime.now(UTC),
        lacking=lacking,
        troubled=sum(bool(line.troubles) for line in found),
        grave=sum(any(each.grave for each in line.troubles) for line in found),
        counts={each.name: counts[each.name] for each in TROUBLES if counts[each.name]},
        pipelines=tuple(sorted(found, key=lambda line: order(line.troubles, line.pipeline))),
    )


def _line(
    of: Reading, late: int | None = None, quarantined: int | None = None, *, known: bool
) -> PipelineLine:
    waits, due = of.waits, of.due
    return PipelineLine(
        pipeline=of.pipeline,
        troubles=troubles(of),
        lacking=of.lacking,
        last=of.last,
        runs=of.marks,
        late=late,
        quarantined=quarantined,
        late_waiting=waits.late if known else None,
        quarantined_waiting=waits.quarantined if known else None,
        unpublished_batches=waits.batches if known else None,
        unpublished_rows=waits.rows if known else None,
        state_rows=waits.state_rows,
        growth=_growth(of),
        state_bytes=waits.state_bytes,
        # A paused DAG keeps the time of the run that it does not make.
        next_run=due.at if due and not due.paused else None,
        running_since=due.active_since if due else None,
        paused=due.paused if due else None,
    )


def _growth(of: Reading) -> int | None:
    # A drain that failed before it read anything knows nothing of the state, and has 0 for it.
    known = [mark for mark in of.marks if mark.status == "succeeded" or mark.read]
    rows = [mark.state_rows for mark in known if mark.state_rows is not None]
    return rows[0] - rows[-1] if rows else None
