"""Verdict on: which verdict is about the rows that a version of the table has.

A verdict is about the rows of the version that a run ended with. A rewind may restore a version
amid a run, and a rewind or an undo rows that failed and were mended later: none is about them, so
they are judged again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from spark_jobs.messages.kind import STATE_KINDS
from spark_jobs.messages.report import parse_report
from spark_jobs.ops import ops_tables
from spark_jobs.table import history
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.checkpoint.notes.cursor import Cursor
    from spark_jobs.storage.root.paths import Paths


class Judged(BaseModel):
    """The newest verdict that is about rows of the version."""

    model_config = ConfigDict(frozen=True)

    whole: bool
    """Whether it is about all of them: nothing has changed a row since."""
    batch: int
    """The newest batch that it was about; -1 without one."""
    table_version: int
    """The version that passed; 0, which has no rows, without one."""


def verdict_on(
    paths: Paths, known: Identity, cursor: Cursor | None, version: int, batch: int
) -> Judged:
    """That on this version, which the table had after the batch. Without a cursor, by what runs and
    persons have left in the ops tables.
    """
    told = cursor.judged_table_version if cursor else None
    passed = (
        told if told is not None and told <= version else 0,
        _judged_well(paths, known, version),
        _accepted(paths, known, version),
    )
    newest = max(passed)
    if newest == version or not history.rows_changed(table_of(paths), newest, version):
        # A batch that wrote nothing may have failed by its account.
        whole = batch if cursor and cursor.judged >= batch else _newest_batch(paths, known, newest)
        return Judged(whole=True, batch=min(batch, whole), table_version=newest)
    return Judged(whole=False, batch=_newest_batch(paths, known, newest), table_version=newest)


def _judged_well(paths: Paths, known: Identity, version: int) -> int:
    rows = ops_tables.query(
        paths.root,
        "runs",
        f"SELECT table_version, report FROM runs WHERE pipeline = '{paths.pipeline}' "
        f"AND status = 'succeeded' AND table_version <= {version} "
        f"AND (kind IS NULL OR {ops_tables.among('kind', STATE_KINDS)}) "
        "ORDER BY table_version DESC",
    ).to_pylist()
    ours = (
        row["table_version"]
        for row in rows
        if parse_report(row["report"], "a report in ops.runs").generation in known.generations
        and history.stands(table_of(paths), row["table_version"])
    )
    return int(next(ours, 0))


def _accepted(paths: Paths, known: Identity, version: int) -> int:
    rows = ops_tables.query(
        paths.root,
        "checks",
        "SELECT DISTINCT table_version FROM checks WHERE "
        f"{ops_tables.equals({'pipeline': paths.pipeline, 'outcome': 'accepted'})} AND "
        f"{ops_tables.among('generation', known.generations)} AND table_version <= {version} "
        "ORDER BY table_version DESC",
    ).to_pylist()
    versions = (row["table_version"] for row in rows)
    stand = (each for each in versions if history.stands(table_of(paths), each))
    return int(next(stand, 0))


def _newest_batch(paths: Paths, known: Identity, version: int) -> int:
    [row] = ops_tables.query(
        paths.root,
        "batches",
        f"SELECT max(batch_id) AS newest FROM batches WHERE "
        f"{ops_tables.equals({'pipeline': paths.pipeline})} AND "
        f"{ops_tables.among('generation', known.generations)} AND table_version <= {version}",
    ).to_pylist()
    return -1 if row["newest"] is None else int(row["newest"])
