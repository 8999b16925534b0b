"""Outdated: how tables beside the stream have changed since rows were computed with them: the rows
of ops.outdated, a mark for each change.

Whether a mark still says something, the repairs that stand tell (repair/find/outdated_rows.py): so
nothing is to be taken back here by an undo, a rewind or a reset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from spark_jobs.ops import ops_tables
from spark_jobs.storage.pin import Changed, Pin
from spark_jobs.values.spans import FIRST, LAST, Span

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.ops.schema import Row
    from spark_jobs.storage.lease_view import Held

TABLE: Final = "outdated"
MOST: Final = 10_000
"""Marks of one version. Of more changes there is one mark, of all keys."""


class Marks(NamedTuple):
    """All marks of one version of a table."""

    input: str
    table_id: str
    version: int
    batch: int
    """The newest batch that has read the table without it."""
    noted_at: datetime
    changes: int
    by_key: bool
    """Whether each has a key."""
    times: Span
    """The event times that they concern, and those between them."""

    @property
    def of(self) -> tuple[str, Pin]:
        """The name, and the version."""
        return self.input, Pin(table_id=self.table_id, version=self.version)


def put(  # noqa: PLR0913 - each is a column, or decides which rows go
    root: UPath,
    pipeline: str,
    generations: Sequence[str],
    name: str,
    pin: Pin,
    batch: int,
    changes: Iterable[Changed],
    held: Held,
    *,
    goes_back: bool = True,
) -> int:
    """Write what this version has otherwise than all batches up to this one have read, in place of
    what was written of it before. Nothing of times that no range has. How many marks it has.

    What batches behind this one were marked for goes: a rewind has taken them back, and nobody
    repairs with their versions. Not where versions do not go back with batches (`goes_back`).
    """
    own: Row = {"pipeline": pipeline, "generation": generations[-1], "input": name}
    own |= {"batch": batch, "noted_at": datetime.now(UTC), **pin.model_dump()}
    rows: list[Row] = [own | each._asdict() for each in _few(changes)]
    own_table = _of(pipeline, generations, name, pin.table_id)
    behind = f" OR batch > {batch}" if goes_back else ""
    of_it = f"{own_table} AND (version = {pin.version}{behind})"
    if rows or _count(root, of_it):
        ops_tables.replace(root, TABLE, rows, of_it, held)
    return len(rows)


def _few(changes: Iterable[Changed]) -> list[Changed]:
    """Without holding more of them than there may be marks."""
    found, most = dict[Changed, None](), MOST
    for each in filter(None, map(_placed, changes)):
        found[each] = None
        if len(found) > most:
            found, most = {_all_keys(found): None}, 1
    return [*found]


def _all_keys(found: Iterable[Changed]) -> Changed:
    starts, ends = ([*each] for each in zip(*((of.start, of.end) for of in found), strict=True))
    first = None if None in starts else min(filter(None, starts))
    return Changed(None, first, None if None in ends else max(filter(None, ends)))


def _placed(change: Changed) -> Changed | None:
    """Its times as ranges have them; None if there are none."""
    start, end = change.start, change.end
    start = None if start is None or start <= FIRST else start
    end = None if end is None or end >= LAST else end
    if (start or FIRST) >= (end or LAST):
        return None
    return Changed(change.key, start, end)


def stored(
    root: UPath, pipeline: str, generations: Sequence[str], inputs: Mapping[str, Pin]
) -> list[Marks]:
    """What newer versions have otherwise, up to these, oldest first. A version of another table of
    the name is none of these: the first version of a new one has a mark of all keys.
    """
    found = []
    for name, pin in inputs.items() if ops_tables.exists(root, TABLE) else ():
        of_it = f"{_of(pipeline, generations, name, pin.table_id)} AND version <= {pin.version}"
        sql = (
            "SELECT version, max(batch) AS batch, max(noted_at) AS noted_at, count(*) AS changes, "
            'count(*) = count("key") AS by_key, '
            'CASE WHEN count(*) = count("start") THEN min("start") END AS s, '
            'CASE WHEN count(*) = count("end") THEN max("end") END AS e '
            f"FROM {TABLE} WHERE {of_it} GROUP BY version ORDER BY version"
        )
        for row in ops_tables.query(root, TABLE, sql).to_pylist():
            times = Span(row.pop("s") or FIRST, row.pop("e") or LAST)
            found.append(Marks(input=name, table_id=pin.table_id, times=times, **row))
    return found


def changes(root: UPath, pipeline: str, generations: Sequence[str], of: Marks) -> Iterator[Changed]:
    """Its marks."""
    of_it = f"{_of(pipeline, generations, of.input, of.table_id)} AND version = {of.version}"
    sql = f'SELECT "key", "start", "end" FROM {TABLE} WHERE {of_it}'
    for row in ops_tables.query(root, TABLE, sql).to_pylist():
        yield Changed(**row)


def forget(
    root: UPath, pipeline: str, generations: Sequence[str], of: tuple[str, Pin], held: Held
) -> None:
    """Remove the marks of this version of a table."""
    name, pin = of
    of_it = f"{_of(pipeline, generations, name, pin.table_id)} AND version = {pin.version}"
    if _count(root, of_it):
        ops_tables.remove(root, TABLE, of_it, held)


def _of(pipeline: str, generations: Sequence[str], name: str, table_id: str) -> str:
    own = ops_tables.equals({"input": name, "table_id": table_id})
    return f"{ops_tables.of_checkpoint(pipeline, generations)} AND {own}"


def _count(root: UPath, where: str) -> int:
    if not ops_tables.exists(root, TABLE):
        return 0
    sql = f"SELECT count(*) AS n FROM {TABLE} WHERE {where}"
    found: int = ops_tables.query(root, TABLE, sql).to_pylist()[0]["n"]
    return found
