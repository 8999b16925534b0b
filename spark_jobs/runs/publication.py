"""Publication: what `publish` tells consumers: the table version that passed the checks, and all
that is new since the last that they were told of.

It is made of what lies in the root, not of one run's report: a run that was killed after its
checks, one that a person started on the command line, and a decision to accept a failed check are
published by whichever publish comes next.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs import failpoint
from spark_jobs.checkpoint.cursor import read_cursor
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.published import Published
from spark_jobs.contract.event import Event
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.report import Account
from spark_jobs.ops import ops_tables
from spark_jobs.published import table as published_table
from spark_jobs.runs.days import days
from spark_jobs.runs.decisions import decisions
from spark_jobs.runs.due import Announced, due
from spark_jobs.runs.repaired import repaired

if TYPE_CHECKING:
    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.contract.spec import Pipeline
    from spark_jobs.ops.schema import Row

LOG = logging.getLogger(__name__)
COUNTS = tuple(Account.model_fields)


class Publication(NamedTuple):
    """An event to emit, and the fact to write with it."""

    event: Event
    fact: Published


def publish(paths: Paths, spec: Pipeline, announced: Announced) -> Event | None:
    """Move the published table to what has passed, and write the fact; the event to emit then, or
    None if consumers know of everything that passed.

    If the event is not emitted, the next call knows it from `announced`, and its event covers this
    one's rows too. Raises PublishedTableRefused or CheckpointBroken.
    """
    found = publication(paths, spec, announced)
    # Who is told of a version must find it there, or a newer one, which a drain beside this has
    # judged since.
    if move_table(paths, spec):
        LOG.info("moved %s to what has passed", paths.published_table)
    if found is None:
        return None
    failpoint.at("shown")
    try:
        found.fact.write(paths.published)
    except FileNotFoundError:
        return None  # a reset beside it has moved the checkpoint: there is nothing to tell of it
    failpoint.at("told")
    return found.event


def table_due(paths: Paths, spec: Pipeline) -> int | None:
    """The judged version that the published table does not show yet; None if it does, or if the
    spec has none.

    Raises PublishedTableRefused.
    """
    version = _judged(paths, spec)
    return version if version is not None and published_table.behind(paths, version) else None


def move_table(paths: Paths, spec: Pipeline) -> bool:
    """Let the published table show what has passed. Whether it moved.

    Raises PublishedTableRefused.
    """
    version = _judged(paths, spec)
    return version is not None and published_table.move(paths, version)


def _judged(paths: Paths, spec: Pipeline) -> int | None:
    cursor = read_cursor(paths.cursor)
    return cursor.judged_table_version if spec.published_table and cursor.judged >= 0 else None


def publication(
    paths: Paths, spec: Pipeline, announced: Announced | None = None
) -> Publication | None:
    """The event that is due, with its fact; None if there is none. Raises CheckpointBroken."""
    fact = due(paths, announced)
    known = read_identity(paths)
    if fact is None or known is None:
        return None
    pipeline = spec.name
    batches = _batches(paths, pipeline, known, fact)
    last: Row = batches[-1] if batches else {}
    before: Row = next((row for row in batches if row["batch_id"] == fact.before_batch), {})
    passed = [row for row in batches if row["batch_id"] > fact.before_batch]
    event = Event(
        table=str(paths.table),
        published_table=str(paths.published_table) if spec.published_table else None,
        pipeline=pipeline,
        run_id=last.get("run_id", ""),
        generation=fact.generation or known.generation,
        table_version=fact.table_version,
        table_version_before=fact.before_version,
        account=sum(map(Account.of_row, passed), Account()),
        watermark=last.get("watermark"),
        offsets_end=json.loads(last.get("offsets_end", "{}")),
        decisions=decisions(paths, known, fact),
        repairs=repaired(paths, known, fact),
        days=days(paths, spec, known, fact, (before.get("watermark"), last.get("watermark"))),
    )
    return Publication(event, fact)


def _batches(paths: Paths, pipeline: str, known: Identity, fact: Published) -> list[Row]:
    """The rows of ops.batches from the last published batch to the one to publish."""
    generations = ", ".join(f"'{each}'" for each in known.generations)
    rows: list[Row] = ops_tables.query(
        paths.root,
        "batches",
        f"SELECT batch_id, run_id, watermark, offsets_end, {', '.join(COUNTS)} FROM batches "
        f"WHERE pipeline = '{pipeline}' AND generation IN ({generations}) "
        f"AND batch_id BETWEEN {fact.before_batch} AND {fact.batch} ORDER BY batch_id",
    ).to_pylist()
    return rows
