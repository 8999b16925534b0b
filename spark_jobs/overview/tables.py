"""Tables: what the ops tables say of all pipelines, one question a table.

Answers are read by columns: row by row, 5,000 runs take four times as long.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pydantic import TypeAdapter

from spark_jobs.errors import RepairUnknown, SluiceError
from spark_jobs.messages.kind import LIVE_KINDS, STAGED_KINDS
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.json_of_tables import RunLine
from spark_jobs.ops.terms import moment
from spark_jobs.overview.json_of_overview import Mark
from spark_jobs.overview.reading import Notes, Waits
from spark_jobs.repair.find.ranges_due import outdated
from spark_jobs.repair.manifest import read_manifest
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.ops.schema import Row

LAST = 30
"""Drains in the strip of a pipeline."""
LINE = tuple(name for name in RunLine.model_fields if name != "filtered")
_MARKS = TypeAdapter(list[Mark])
_LIVE = ops_tables.among("kind", LIVE_KINDS)
_STAGED = ops_tables.among("kind", STAGED_KINDS)
COUNTED = ("read", "rows_out", "late", "malformed", "premature")
"""Columns that the row of a run that was refused may lack."""


class Ran(NamedTuple):
    """The runs of one pipeline."""

    last: RunLine | None
    marks: tuple[Mark, ...]
    again: RunLine | None


def ran(root: UPath, pipelines: Sequence[str]) -> dict[str, Ran]:
    """Pipeline -> its last drains, and its last run that computed ranges again."""
    these = ", ".join(LINE)
    columns = _asked(
        root,
        "runs",
        f"SELECT {these}, live FROM (SELECT {these}, {_LIVE} AS live, row_number() OVER "
        f"(PARTITION BY pipeline, {_LIVE} ORDER BY started_at DESC, run_id) AS place FROM runs "
        f"WHERE ({_LIVE} OR {_STAGED}) AND {ops_tables.among('pipeline', pipelines)}) "
        f"WHERE place = 1 OR (live AND place <= {LAST}) ORDER BY place",
    )
    first = dict[tuple[str, bool], RunLine]()
    of: list[str] = []
    marks: list[Row] = []
    for *values, live in columns:
        row = dict(zip(LINE, values, strict=True))
        if (row["pipeline"], live) not in first:
            first[row["pipeline"], live] = _line(row)
        if live:
            of.append(row["pipeline"])
            marks.append(row | {"read": row["read"] or 0})
    by_name = defaultdict[str, list[Mark]](list)
    # All at once: one after the other, 5,000 take five times as long.
    for name, mark in zip(of, _MARKS.validate_python(marks), strict=True):
        by_name[name].append(mark)
    return {
        name: Ran(first.get((name, True)), tuple(by_name[name]), first.get((name, False)))
        for name in pipelines
    }


def warned(root: UPath, last: Mapping[str, RunLine | None]) -> dict[str, tuple[str, ...]]:
    """Pipeline -> the checks of severity warning that its last drain did not pass, by name."""
    runs = [f"{_of(name)}, {_of(run.run_id)}" for name, run in last.items() if run]
    found = defaultdict[str, list[str]](list)
    if runs and ops_tables.exists(root, "checks"):
        rows = _asked(
            root,
            "checks",
            f'SELECT checks.pipeline, type, "column" FROM checks JOIN {_values(runs, "run")} ON '
            "checks.pipeline = own.pipeline AND checks.run_id = own.run "
            f"WHERE {_those('checks', last)} AND severity = 'warning' "
            "AND outcome <> 'passed' ORDER BY 1, 2, 3",
        )
        for pipeline, kind, column in rows:
            found[pipeline].append(f"{kind}({column})" if column else kind)
    return {name: tuple(each) for name, each in found.items()}


def kept(root: UPath, table: str, pipelines: Sequence[str]) -> Counter[str]:
    """Pipeline -> rows of ops.late or ops.quarantine."""
    if not ops_tables.exists(root, table):
        return Counter()
    these = ops_tables.among("pipeline", pipelines)
    sql = f"SELECT pipeline, count(*) FROM {table} WHERE {these} GROUP BY pipeline"
    return Counter(dict(_asked(root, table, sql)))


def waits(root: UPath, notes: Mapping[str, Notes]) -> dict[str, Waits]:
    """Pipeline -> what waits of it, for those that have a readable checkpoint."""
    known = {name: each for name, each in notes.items() if each.generations}
    if not known:
        return {}
    late, bad = (_rejected(root, table, known) for table in ("late", "quarantine"))
    written, staged = _written(root, known), _staged(root, known)
    marked = _marked(root, known)
    found = {}
    for name in known:
        (waiting, runs), (quarantined, _) = late[name], bad[name]
        changed = marked.get(name, (0, None))
        found[name] = Waits(waiting, runs, quarantined, changed, *written[name])._replace(
            staged=tuple(staged[name])
        )
    return found


def _marked(root: UPath, known: Mapping[str, Notes]) -> dict[str, tuple[int, datetime | None]]:
    """Most have no mark; whether the rows of one were computed since, its repairs tell."""
    found = dict[str, tuple[int, datetime | None]]()
    if ops_tables.exists(root, "outdated"):
        sql = f"SELECT DISTINCT outdated.pipeline FROM {_joined('outdated', known)}"
        for (name,) in _asked(root, "outdated", sql):
            if spec := known[name].spec:
                with suppress(SluiceError):  # told by what else it breaks
                    found[name] = outdated(spec, Paths(str(root), spec))
    return found


def _rejected(
    root: UPath, table: str, known: Mapping[str, Notes]
) -> dict[str, tuple[int, tuple[str, ...]]]:
    found = defaultdict[str, tuple[int, tuple[str, ...]]](lambda: (0, ()))
    if ops_tables.exists(root, table):
        waits = f"SELECT {table}.* FROM {_joined(table, known)}"
        merged = f"{_joined('merged', known)} AND source = '{table}'"
        rows = _asked(
            root,
            table,
            "SELECT waits.pipeline, count(*), array_agg(DISTINCT run_id) "
            f"FROM {repairs.unmerged(waits, merged)} GROUP BY waits.pipeline",
            "merged",
        )
        found.update({name: (number, tuple(filter(None, runs))) for name, number, runs in rows})
    return found


def _written(root: UPath, known: Mapping[str, Notes]) -> dict[str, tuple[Any, ...]]:
    """Batches behind the published version, their rows, since when; rows and bytes of the state."""
    own = [f"{each}, {known[name].published}" for name, each in _by_generation(known)]
    newer = "FILTER (WHERE table_version > own.published)"
    rows = _asked(
        root,
        "batches",
        f"SELECT batches.pipeline, count(*) {newer}, coalesce(sum(rows_out) {newer}, 0), "
        f"min(audited_at) {newer}, last_value(state_rows ORDER BY audited_at, batch_id), "
        f"last_value(state_bytes ORDER BY audited_at, batch_id) FROM batches JOIN "
        f"{_values(own, 'generation', 'published')} ON batches.pipeline = own.pipeline "
        f"AND batches.generation = own.generation WHERE {_those('batches', known)} "
        "GROUP BY batches.pipeline",
    )
    found = defaultdict[str, tuple[Any, ...]](lambda: (0, 0, None, None, None))
    found.update({name: tuple(values) for name, *values in rows})
    return found


def _staged(root: UPath, known: Mapping[str, Notes]) -> dict[str, list[datetime]]:
    found = defaultdict[str, list[datetime]](list)
    if not ops_tables.exists(root, "repairs"):
        return found
    rows = _asked(
        root,
        "repairs",
        "SELECT pipeline, generation, repair_id, staged_at FROM repairs WHERE state = 'staged' "
        f"AND {_those('repairs', known)}",
    )
    for pipeline, generation, repair, at in rows:
        notes = known.get(pipeline)
        if notes and notes.spec and at and generation == notes.generations[-1]:
            try:
                waiting = not read_manifest(Paths(str(root), notes.spec), repair).approved
            except RepairUnknown:  # it was removed since
                continue
            if waiting:
                found[pipeline].append(at)
    return found


def _those(table: str, pipelines: Iterable[str]) -> str:
    return ops_tables.among(f"{table}.pipeline", pipelines)


def _joined(table: str, known: Mapping[str, Notes]) -> str:
    own = _values([each for _, each in _by_generation(known)], "generation")
    return (
        f"{table} JOIN {own} ON {table}.pipeline = own.pipeline "
        f"AND {table}.generation = own.generation WHERE {_those(table, known)}"
    )


def _by_generation(known: Mapping[str, Notes]) -> Iterator[tuple[str, str]]:
    for name, notes in known.items():
        for generation in notes.generations:
            yield name, f"{_of(name)}, {_of(generation)}"


def _values(rows: Iterable[str], *columns: str) -> str:
    text = ", ".join(f"({each})" for each in rows)
    return f"(VALUES {text}) AS own(pipeline, {', '.join(columns)})"


def _of(text: str) -> str:
    return ops_tables.equals({"": text}).removeprefix(" = ")


def _line(row: Row) -> RunLine:
    return RunLine(**row | {name: row[name] or 0 for name in COUNTED})


def _asked(root: UPath, table: str, sql: str, *others: str) -> Iterator[tuple[Any, ...]]:
    """Times in UTC."""
    found = ops_tables.query(root, table, sql, *others)
    return zip(*map(_column, found.columns), strict=True)


def _column(column: pa.ChunkedArray) -> list[Any]:
    if not pa.types.is_timestamp(column.type):
        values: list[Any] = column.to_pylist()
        return values
    micros = column.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    return [*map(moment, micros)]
