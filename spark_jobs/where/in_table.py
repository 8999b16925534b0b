"""In the table: the rows that a record is in now, and what a batch wrote. Without Spark."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.spec.analysis.ranged import ranged, unranged
from spark_jobs.table.tables import table_of
from spark_jobs.values.own_columns import OF_A_KEY, OFFSET, PARTITION
from spark_jobs.values.spans import FIRST, LAST
from spark_jobs.values.times import date_of, iso, time_of
from spark_jobs.where.read import key_of, values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spark_jobs.source.place import Place
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.where.known import Known
    from spark_jobs.where.read import Seen

SHOWN: Final = 10
"""Rows of one record."""
MOST: Final = 100
"""Records whose rows are looked for: each is a query."""
BY_CODE: Final = "which rows it is in: the pipeline's own code decides that"
UNCOMPARED: Final = "which rows it is in: its columns cannot be compared without Spark"


class InTable:
    """The table of a pipeline's place."""

    def __init__(self, spec: Pipeline, paths: Paths) -> None:
        self.spec = spec
        self.paths = paths
        self._wrote: dict[int, dict[str, list[dict[str, Any]]] | None] = {}

    @property
    def keeps_records(self) -> bool:
        """Whether each row is a record as it entered, so that its columns tell which."""
        steps = self.spec.steps[self.spec.first_stateful :]
        return not self.spec.keyed and all(step.keeps_rows for step in steps)

    def wrote(
        self, version: int | None, keys: tuple[str, ...], copies: Mapping[Place, Seen]
    ) -> frozenset[Place] | None:
        """Of these copies of one key, in one batch, those that may be what the batch's version
        wrote; none if it wrote none. None if nobody can tell.
        """
        if not self.keeps_records or self.spec.steps[-1] is not self.spec.entry:
            return None
        if version is None:
            return frozenset()
        if (of_key := self._added(version, keys)) is None:
            return None
        [key] = {key_of(seen.row, keys) for seen in copies.values()}
        found = of_key.get(key, [])
        if len(found) > 1:
            return None
        return frozenset(
            place for place, seen in copies.items() if any(_same(row, seen.row) for row in found)
        )

    def _added(self, version: int, keys: tuple[str, ...]) -> dict[str, list[dict[str, Any]]] | None:
        """Key -> the rows that a version added; None if nobody can tell."""
        if version not in self._wrote:
            rows = table_of(self.paths).added(version)
            found = None if rows is None else defaultdict[str, list[dict[str, Any]]](list)
            if rows is not None and found is not None:
                for row in values(rows):
                    found[key_of(row, keys)].append(row)
            self._wrote[version] = found
        return self._wrote[version]

    def rows(self, place: Place, seen: Seen) -> tuple[tuple[dict[str, Any], ...], str]:
        """Those that the record is in now, and why that cannot be told."""
        table = table_of(self.paths)
        if "query" not in table.can or not table.exists():
            return (), "which rows it is in: the table answers no question without Spark"
        where, why = self._where(place, seen)
        if not where:
            return (), why
        names = ", ".join(f'"{name}"' for name in table.columns() if name not in OF_A_KEY)
        most = "" if self.keeps_records else f" LIMIT {SHOWN + 1}"
        answer = table.query(f"SELECT {names} FROM t WHERE {where}{most}")
        found = answer.to_pylist()
        if self.keeps_records:  # the condition leaves out what has no comparison there
            pairs = zip(found, values(answer), strict=True)
            found = [row for row, compared in pairs if _same(compared, seen.row)]
        more = "" if len(found) <= SHOWN else f"its other rows: {SHOWN} are shown"
        return tuple(found[:SHOWN]), more

    def _where(self, place: Place, seen: Seen) -> tuple[str, str]:
        """A condition for the rows, or why there is none."""
        spec, row = self.spec, seen.row
        if spec.keyed:
            partition, offset = place
            return f'"{PARTITION}" = {partition} AND "{OFFSET}" = {offset}', ""
        if self.keeps_records:
            conditions = (_equals(name, row, spec.inputs.types) for name in row)
            return " AND ".join(filter(None, conditions)), UNCOMPARED
        if why := _unfound(spec):
            return "", why
        [grouped] = [step for step in spec.steps if step.grouping_keys is not None]
        keys = [_equals(name, row, spec.inputs.types) for name in grouped.grouping_keys or ()]
        if "" in keys:
            return "", UNCOMPARED
        if grouped.grouping_window is not None:
            at = time_of(row[spec.inputs.event_time])
            if isinstance(at, str) or not FIRST <= at < LAST:
                return "", "which rows it is in: its event time is in no range"
            way = ranged(spec)
            keys.append(way.position.sql([way.touched(at, partition=place.partition)]))
        return " AND ".join(keys) or "true", ""


def _unfound(spec: Pipeline) -> str:
    """Why the columns of a record do not tell its rows; empty if they do."""
    if any(step.by_code for step in spec.steps):
        return BY_CODE
    grouped = [step for step in spec.steps if step.grouping_keys is not None]
    if len(grouped) != 1 or grouped[0] is not spec.steps[-1]:
        return "which rows it is in, behind a step that makes other columns"
    window = grouped[0].grouping_window
    if window is not None and window.kind == "session":
        return "which session it is in: the table has none of its records"
    return f"which rows it is in: {unranged(spec)}" if window and unranged(spec) else ""


def written_with(known: Known, spec: Pipeline, batch: int, seen: Seen) -> tuple[int | None, str]:
    """The version of the table that first had the rows of an accepted record of this batch, and why
    that cannot be told.
    """
    own = next(each for each in known.batches if each.id == batch)
    if any(not step.remembers for step in spec.steps[spec.first_stateful :]):
        return None, "the version that first had its rows: a later step may leave it out"
    waits = [step for step in spec.steps if step.grouping_keys is not None]
    if spec.output_mode != "append" or not waits:
        return own.table_version, ""
    window, at = waits[0].grouping_window, time_of(seen.row[spec.inputs.event_time])
    if len(waits) > 1 or window is None or window.kind != "tumbling" or isinstance(at, str):
        return None, "the version that first had its rows: only the step knows when it wrote them"
    end = window.last_end(at)
    for each in known.batches:
        if each.id >= batch and each.watermark is not None and each.watermark >= end:
            return each.table_version, ""
    return None, f"its rows: they are not written, since their window is open until {iso(end, ' ')}"


def _same(row: Mapping[str, Any], entered: Mapping[str, Any]) -> bool:
    names = [name for name in entered if name in row]
    return key_of(row, names) == key_of(entered, names)


def _equals(name: str, row: Mapping[str, Any], types: Mapping[str, str]) -> str:
    """SQL (DataFusion's); empty of a type that has no comparison here."""
    value, kind = row[name], types.get(name, "")
    if value is None:
        return f'"{name}" IS NULL'
    match value, kind:
        case int(), "timestamp":
            at = time_of(value)
            text = "" if isinstance(at, str) or not FIRST <= at < LAST else f"'{iso(at)}Z'"
        case int(), "date":
            text = f"'{date_of(value)}'"
        case bool(), _:
            text = str(value).lower()
        case int(), "tinyint" | "smallint" | "int" | "bigint":
            text = str(value)
        case str(), "string":
            text = "'" + value.replace("'", "''") + "'"
        case _:
            text = ""
    return text and f'"{name}" = {text}'
