"""Publication: what `publish` tells consumers: the table version that passed the checks, and all
that is new since the last.

It is made of what lies in the root, not of one run's report: a run that was killed after its
checks, one that a person started on the command line, and a decision to accept a failed check are
published by whichever publish comes next.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.cursor import read_cursor
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.published import Published, read_published
from spark_jobs.contract.event import Decision, Event
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.report import Account
from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import Row
from spark_jobs.published import table as published_table

if TYPE_CHECKING:
    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.contract.spec import Pipeline

COUNTS = tuple(Account.model_fields)


class Publication(NamedTuple):
    """An event to emit, and the fact to write with it."""

    event: Event
    fact: Published


Announced = tuple[str, int]
"""Generation and table version of the asset's newest event; ("", -1) if there is none."""


def due(paths: Paths, announced: Announced | None = None) -> Published | None:
    """The fact that publish would write; None if consumers know of everything that passed.

    `announced` is None if the caller cannot know. A publish that was killed after it wrote the
    fact, and before its event was sent, is due again.
    """
    cursor = read_cursor(paths.cursor)
    published = read_published(paths.published)
    if cursor.judged < 0 or cursor.judged_table_version is None:
        return None
    if cursor.judged_table_version == published.table_version:
        return None if _knows(paths, announced, published) else published
    return Published(
        table_version=cursor.judged_table_version,
        batch=cursor.judged,
        before_version=published.table_version,
        before_batch=min(published.batch, cursor.judged),
    )


def _knows(paths: Paths, announced: Announced | None, published: Published) -> bool:
    """Whether the newest event is that of the published version. After a reset versions begin at 0
    again, so the generation is compared too.
    """
    known = read_identity(paths)
    return (
        announced is None
        or known is None
        or announced == (known.generation, published.table_version)
    )


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
    passed = [row for row in batches if row["batch_id"] > fact.before_batch]
    event = Event(
        table=str(paths.table),
        published_table=str(paths.published_table) if spec.published_table else None,
        pipeline=pipeline,
        run_id=last.get("run_id", ""),
        generation=known.generation,
        table_version=fact.table_version,
        table_version_before=fact.before_version,
        account=sum(map(Account.of_row, passed), Account()),
        watermark=last.get("watermark"),
        offsets_end=json.loads(last.get("offsets_end", "{}")),
        decisions=_decisions(paths, pipeline, known, fact),
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


def _decisions(
    paths: Paths, pipeline: str, known: Identity, fact: Published
) -> tuple[Decision, ...]:
    """What persons accepted of these versions. A decision of another generation was about rows that
    a reset or a rewind has taken back, or about another table.
    """
    before = -1 if fact.before_version is None else fact.before_version
    rows = ops_tables.query(
        paths.root,
        "checks",
        'SELECT run_id, checked_at, type, "column", about, unexpected FROM checks '
        f"WHERE pipeline = '{pipeline}' AND outcome = 'accepted' "
        f"AND generation = '{known.generation}' "
        f"AND table_version > {before} AND table_version <= {fact.table_version} ORDER BY "
        "checked_at",
    ).to_pylist()
    return tuple(
        Decision(
            check=f"{row['type']}({row['column']})" if row["column"] else row["type"],
            reason=row["about"],
            by=row["run_id"],
            at=row["checked_at"],
            unexpected=row["unexpected"],
        )
        for row in rows
    )
