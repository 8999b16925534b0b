"""Publication: what `publish` tells consumers: the table version that passed the checks, and all
that is new since the event before, with the failed checks that persons accepted.

It is made of what lies in the root, not of one run's report: a run that was killed after its
checks, one that a person started on the command line, and a decision to accept a failed check are
published by whichever publish comes next. It is fixed (checkpoint/notes/published.py) before
anybody is told.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.checkpoint.notes.published import Published, behind, read_published
from spark_jobs.errors import RebuildRefused, VersionNotLive
from spark_jobs.messages.event import Decision, Event
from spark_jobs.messages.offset_account import OF_BATCHES, Account
from spark_jobs.messages.report import parse_report
from spark_jobs.ops import ops_tables
from spark_jobs.runs.publish.days import days, repaired
from spark_jobs.runs.publish.due import Announced, due, end_of, read_judged
from spark_jobs.source.port import ends_of
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.metastore import try_to_register
from spark_jobs.table.published import table as published_table
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.messages.part import UpTo
    from spark_jobs.ops.schema import Row
    from spark_jobs.spec import Pipeline


def decisions(paths: Paths, known: Identity, fact: Published) -> tuple[Decision, ...]:
    """What persons accepted of the versions after the fact's `before_version`, up to its own.

    Without decisions about rows that a rewind has taken back, every one of them; and without other
    checkpoints' decisions.
    """
    before = -1 if fact.before_version is None else fact.before_version
    ours = ops_tables.among("generation", known.generations)
    rows = ops_tables.query(
        paths.root,
        "checks",
        'SELECT generation, table_version, run_id, checked_at, type, "column", about, unexpected '
        f"FROM checks WHERE pipeline = '{paths.pipeline}' AND outcome = 'accepted' "
        f"AND {ours} "
        f"AND table_version > {before} AND table_version <= {fact.table_version} ORDER BY "
        "checked_at",
    ).to_pylist()
    return tuple(
        _decision(row)
        for row in rows
        if row["generation"] == known.generation or _stays(paths, known, row, before)
    )


def _stays(paths: Paths, known: Identity, accepted: Row, before: int) -> bool:
    """Whether a rewind since has kept some of the batches that the decision was about: those of
    the versions that the run had judged. It removes the rows of the others from ops.batches.
    """
    since = _judged_since(paths, accepted, before)
    ours = ops_tables.among("generation", known.generations)
    [row] = ops_tables.query(
        paths.root,
        "batches",
        f"SELECT count(*) AS kept FROM batches WHERE pipeline = '{paths.pipeline}' "
        f"AND {ours} "
        f"AND table_version > {since} AND table_version <= {accepted['table_version']}",
    ).to_pylist()
    return bool(row["kept"])


def _judged_since(paths: Paths, accepted: Row, before: int) -> int:
    rows = ops_tables.query(
        paths.root,
        "runs",
        f"SELECT report FROM runs WHERE pipeline = '{paths.pipeline}' "
        f"AND problem = 'CHECK_FAILED' AND table_version = {accepted['table_version']} "
        "ORDER BY ended_at DESC",
    ).to_pylist()
    reports = (parse_report(row["report"], "the report of a run in ops.runs") for row in rows)
    versions = (
        report.table_version_before
        for report in reports
        if report.generation == accepted["generation"]
    )
    since = next(versions, before)
    return -1 if since is None else since


def _decision(row: Row) -> Decision:
    return Decision(
        check=f"{row['type']}({row['column']})" if row["column"] else row["type"],
        reason=row["about"],
        by=row["run_id"],
        at=row["checked_at"],
        unexpected=row["unexpected"],
    )


LOG = logging.getLogger(__name__)


def publish(paths: Paths, spec: Pipeline, announced: Announced) -> tuple[Event, ...]:
    """Move the published table to what has passed; the events to emit then, in their order; none if
    consumers know of everything that passed.

    The same events until Airflow has them, and those since. Raises PublishedTableRefused,
    TableLacks, CheckpointBroken, and RebuildRefused for what a rebuild computes.
    """
    if paths.place.beside:
        raise RebuildRefused.unpublished(pipeline=spec.name)
    table_of(paths).require("publish", "publish")
    events = _to_tell(paths, spec, announced)
    failpoint.at("fixed")
    # Who is told of a version must find it there, or a newer one, which a drain beside this has
    # judged since.
    try:
        version = _to_show(paths, spec)
        if version is not None and published_table.move(
            paths, version, refuse_dead, at_once=_at_once(spec)
        ):
            LOG.info("moved %s to what has passed", paths.published_table)
    except VersionNotLive:  # a reset or a switch came: the next publish shows another table
        pass
    failpoint.at("shown")
    try_to_register(paths, spec)
    return events


def to_publish(paths: Paths, spec: Pipeline, announced: Announced | None = None) -> int | None:
    """The version that publish would tell or show; None if there is none. `announced` is None if
    the caller cannot know.

    Raises PublishedTableRefused or CheckpointBroken.
    """
    if paths.place.beside or "publish" not in table_of(paths).can:
        return None
    last = read_published(paths)
    if announced is not None and last.number > announced.number:
        return last.table_version
    if waiting := due(paths, spec, last, announced):
        return waiting.table_version
    version = _to_show(paths, spec)
    return version if version is not None and published_table.behind(paths, version) else None


def _to_show(paths: Paths, spec: Pipeline) -> int | None:
    judged = None if spec.is_archive else read_judged(paths, spec)
    return judged.table_version if judged else None


def _at_once(spec: Pipeline) -> bool:
    """Whether consumers see nothing between two verdicts: a version amid a drain that replaces rows
    is none that they may read, nor is one amid a spec's own ends.
    """
    appends = spec.output_mode == "append" and not spec.keyed
    return not appends or spec.publish_at is not None


def _to_tell(paths: Paths, spec: Pipeline, announced: Announced) -> tuple[Event, ...]:
    """What passed since the newest fixed event is fixed first."""
    while fact := due(paths, spec, last := read_published(paths), announced):
        event = _event(paths, spec, fact)
        # Neither a drain nor a rewind has changed what it was made of meanwhile.
        if event is not None and due(paths, spec, last, announced) == fact:
            fact.model_copy(update={"event": event}).fix(paths)
    events = behind(paths, announced.number)
    if announced.number and events and events[0].number > announced.number + 1:
        LOG.warning(
            "%s: the events %d to %d are gone: read the table as a whole",
            paths.pipeline, announced.number + 1, events[0].number - 1,
        )  # fmt: skip
    return events


def _event(paths: Paths, spec: Pipeline, fact: Published) -> Event | None:
    """None if there is no checkpoint any more. Raises CheckpointBroken."""
    known = read_identity(paths)
    if known is None or fact.table_version is None:
        return None
    pipeline = spec.name
    batches = _batches(paths, pipeline, known, fact)
    last: Row = batches[-1] if batches else {}
    before: Row = next((row for row in batches if row["batch_id"] == fact.before_batch), {})
    passed = [row for row in batches if row["batch_id"] > fact.before_batch]
    return Event(
        number=fact.number,
        table=str(paths.table),
        published_table=None if spec.is_archive else str(paths.published_table),
        pipeline=pipeline,
        run_id=last.get("run_id", ""),
        generation=known.generation,
        table_version=fact.table_version,
        table_version_before=fact.before_version,
        account=sum(map(Account.of_row, passed), Account()),
        watermark=last.get("watermark"),
        offsets_end=json.loads(last.get("offsets_end", "{}")),
        up_to=_up_to(paths, spec, known, fact),
        decisions=decisions(paths, known, fact),
        repairs=repaired(paths, known, fact),
        days=days(paths, spec, known, fact, (before.get("watermark"), last.get("watermark"))),
    )


def _up_to(paths: Paths, spec: Pipeline, known: Identity, fact: Published) -> UpTo | None:
    ends = ends_of(spec, paths)
    end = end_of(ends, paths, known, fact.batch) if ends else None
    return end.up_to if end else None


def _batches(paths: Paths, pipeline: str, known: Identity, fact: Published) -> list[Row]:
    generations = ", ".join(f"'{each}'" for each in known.generations)
    rows: list[Row] = ops_tables.query(
        paths.root,
        "batches",
        f"SELECT batch_id, run_id, watermark, offsets_end, {', '.join(OF_BATCHES)} FROM batches "
        f"WHERE pipeline = '{pipeline}' AND generation IN ({generations}) "
        f"AND batch_id BETWEEN {fact.before_batch} AND {fact.batch} ORDER BY batch_id",
    ).to_pylist()
    return rows
