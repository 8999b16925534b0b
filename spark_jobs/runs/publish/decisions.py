"""Decisions: the failed checks that persons accepted for the rows that are published now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.messages.event import Decision
from spark_jobs.messages.report import parse_report
from spark_jobs.ops import ops_tables

if TYPE_CHECKING:
    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.checkpoint.notes.published import Published
    from spark_jobs.ops.schema import Row
    from spark_jobs.storage.root.paths import Paths


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
