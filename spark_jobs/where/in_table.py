"""In the table: where an accepted record went, what it awaits, and what a batch wrote. No Spark."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from spark_jobs.spec.analysis.ranged import ranged, unranged
from spark_jobs.spec.columns import Origin, Origins
from spark_jobs.table.tables import table_of
from spark_jobs.values.own_columns import AT_ELEMENT, OF_A_KEY, OFFSET, PARTITION
from spark_jobs.values.python_times import rows_of
from spark_jobs.values.spans import FIRST, LAST
from spark_jobs.values.times import date_of, iso, time_of
from spark_jobs.where.ask import alike, key_of, values
from spark_jobs.where.fate import Became

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spark_jobs.source.place import Place
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.steps.step import Pairs
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.where.ask import Seen
    from spark_jobs.where.fate import Fate
    from spark_jobs.where.kept import Accounted

SHOWN: Final = 10
"""Rows of one record."""
MOST: Final = 100
"""Records whose rows are looked for: each is a query."""
ROWS: Final = "which rows it is in"
UNCOMPARED: Final = f"{ROWS}: its columns cannot be compared without Spark"


class InTable:
    """The table of a pipeline's place."""

    def __init__(self, spec: Pipeline, paths: Paths, batches: Iterable[Accounted]) -> None:
        self.spec = spec
        self._batches = batches
        self._table = table_of(paths)

    @property
    def keeps_records(self) -> bool:
        """Whether each row is a record as it entered, so that its columns tell which."""
        steps = self.spec.steps[self.spec.first_stateful :]
        return not self.spec.keyed and all(step.keeps_rows for step in steps)

    def wrote(
        self, version: int | None, keys: tuple[str, ...], copies: Mapping[Place, dict[str, Any]]
    ) -> dict[str, frozenset[Place] | None]:
        """key_of -> of these copies, which one batch has, those that may be what the batch's
        version wrote; none if it wrote none. None or nothing if nobody can tell.
        """
        if not self.keeps_records or self.spec.steps[-1] is not self.spec.entry:
            return {}
        rows = defaultdict[str, list[dict[str, Any]]](list)
        if version is not None:
            if (added := self._table.added(version)) is None:
                return {}
            at = alike(added, keys, copies.values()) if added.num_rows else ()
            for row in values(added, at):
                rows[key_of(row, keys)].append(row)
        found: dict[str, frozenset[Place] | None] = {}
        for place, row in copies.items():
            own = rows[key := key_of(row, keys)]
            before = found.get(key, frozenset())
            may = {place} if any(_same(each, row) for each in own) else ()
            found[key] = None if before is None or len(own) > 1 else before.union(may)
        return found

    def went(self, fate: Fate, seen: Seen, batch: Accounted, *, looked_up: bool) -> Fate:
        """With the rows that it is in, if they are looked up, and the version that first had it."""
        if fate.became is Became.DUPLICATE:
            return fate
        if looked_up:
            rows, why = self.rows(fate.place, seen)
            fate = fate._replace(rows=rows).but(why)
            if not rows and not why and (paired := Paired.of(self.spec, fate.place, seen)):
                fate = fate._replace(why=paired.alone(self._batches))
        if fate.became is not Became.ACCEPTED:
            return fate
        version, why = self._first_with(batch, seen)
        if self.spec.keyed and not fate.rows:  # a newer one of its key may have come first
            version, why = None, "its key's row is another record's"
        untold = why and f"the version that first had it: {why}"
        return fate._replace(table_version=version).but(untold)

    def rows(self, place: Place, seen: Seen) -> tuple[tuple[dict[str, Any], ...], str]:
        """Those that the record is in now, and why that cannot be told."""
        if "query" not in self._table.can or not self._table.exists():
            return (), f"{ROWS}: the table answers no question without Spark"
        paired = Paired.of(self.spec, place, seen)
        own = seen.row if self.keeps_records else paired and paired.row
        where, why = self._where(place, seen, own, paired)
        if not where:
            return (), why
        names = ", ".join(f'"{name}"' for name in self._table.columns() if name not in OF_A_KEY)
        most = f" LIMIT {SHOWN + 1}" if own is None else ""
        answer = self._table.query(f"SELECT {names} FROM t WHERE {where}{most}")
        found = rows_of(answer)
        if own is not None:  # the condition leaves out what has no comparison there
            pairs = zip(found, values(answer), strict=True)
            found = [row for row, compared in pairs if _same(compared, own)]
        return tuple(found[:SHOWN]), "" if len(found) <= SHOWN else f"other rows than {SHOWN}"

    def _where(
        self, place: Place, seen: Seen, own: Mapping[str, Any] | None, paired: Paired | None
    ) -> tuple[str, str]:
        """A condition, or why there is none. `own`: the table's columns, if these tell the rows."""
        spec, row, types = self.spec, seen.row, self.spec.inputs.types
        if spec.keyed:
            value = f'"{PARTITION}" = {place.partition} AND "{OFFSET}" = {place.offset}'
            of_it = "" if place.number is None else f' AND "{AT_ELEMENT}" = {place.number}'
            return value + of_it, ""
        if own is not None:
            names = paired.found.columns if paired else {}
            of = (equals(name, own[name], types.get(names.get(name, name), "")) for name in own)
            return " AND ".join(filter(None, of)), UNCOMPARED
        if why := _unfound(spec):
            return "", f"{ROWS}{why}"
        [grouped] = [step for step in spec.steps if step.grouping_keys is not None]
        keys = [equals(n, row[n], types.get(n, "")) for n in grouped.grouping_keys or ()]
        if "" in keys:
            return "", UNCOMPARED
        if grouped.grouping_window is not None:
            at = time_of(row[spec.inputs.event_time])
            if isinstance(at, str) or not FIRST <= at < LAST:
                return "", f"{ROWS}: its event time is in no range"
            way = ranged(spec)
            keys.append(way.position.sql([way.touched(at, partition=place.partition)]))
        return " AND ".join(keys) or "true", ""

    def _first_with(self, batch: Accounted, seen: Seen) -> tuple[int | None, str]:
        """Of an accepted record the table's version, and why that cannot be told."""
        spec = self.spec
        if any(not step.remembers for step in spec.steps[spec.first_stateful :]):
            return None, "a later step may leave it out"
        waits = [step for step in spec.steps if step.grouping_keys is not None]
        if spec.output_mode != "append" or not waits:
            return batch.table_version, ""
        window, at = waits[0].grouping_window, time_of(seen.row[spec.inputs.event_time])
        if len(waits) > 1 or window is None or window.kind != "tumbling" or isinstance(at, str):
            return None, "only the step knows when it wrote its rows"
        end = window.last_end(at)
        for each in self._batches:
            if each.id >= batch.id and each.watermark is not None and each.watermark >= end:
                return each.table_version, ""
        return None, f"its window is open until {iso(end, ' ')}, and not written"


class Paired(NamedTuple):
    """One record of an input that a step takes apart."""

    found: Pairs
    row: dict[str, Any]
    """Column of the table -> the record's value."""
    others: str
    """The inputs whose records it finds."""
    at: datetime | str
    """Its event time."""

    @classmethod
    def of(cls, spec: Pipeline, place: Place, seen: Seen) -> Self | None:
        """None where no step takes inputs apart, or a later one makes other columns."""
        at = next((n for n, step in enumerate(spec.steps) if step.takes), None)
        if at is None:
            return None
        own = spec.inputs.of_partition(place.partition).name
        found = spec.steps[at].pairs(own)
        if found is None:
            return None
        same: Origins = {name: (Origin(name, "identity"),) for name in found.columns}
        origins = same
        for step in spec.steps[at + 1 :]:
            origins = step.origins_after(origins, spec.inputs.event_time)
        if any(origins.get(name) != of for name, of in same.items()):
            return None
        row = {new: seen.row[old] for new, old in found.columns.items()}
        others = ", ".join(name for name in spec.steps[at].takes if name != own)
        return cls(found, row, others, time_of(seen.row[spec.inputs.event_time]))

    def alone(self, batches: Iterable[Accounted]) -> str:
        """What it waits for, if it is in no row; empty if it waits no more."""
        if isinstance(self.at, str):
            return ""
        try:
            until = self.at + self.found.waits
        except OverflowError:
            return ""
        if any(each.watermark is not None and each.watermark > until for each in batches):
            return "" if self.found.alone else f"no row of {self.others} found it"
        then = "; then it leaves alone" if self.found.alone else ""
        return f"it waits in the state for a row of {self.others}, until {iso(until, ' ')}{then}"


def _unfound(spec: Pipeline) -> str:
    """Why the columns of a record do not tell its rows; empty if they do."""
    if any(step.by_code for step in spec.steps):
        return ": the pipeline's own code decides that"
    if any(step.takes for step in spec.steps):
        return ": a step makes pairs of several topics' records"
    grouped = [step for step in spec.steps if step.grouping_keys is not None]
    if len(grouped) != 1 or grouped[0] is not spec.steps[-1]:
        return ", behind a step that makes other columns"
    window = grouped[0].grouping_window
    if window is not None and window.kind == "session":
        return ": of sessions the table has none of the records"
    return f": {unranged(spec)}" if window and unranged(spec) else ""


def _same(row: Mapping[str, Any], entered: Mapping[str, Any]) -> bool:
    names = [name for name in entered if name in row]
    return key_of(row, names) == key_of(entered, names)


def equals(name: str, value: Any, kind: str) -> str:
    """SQL (DataFusion's and Spark's), of a value as ask.values or Python has it; empty if none."""
    if value is None:
        return f"`{name}` IS NULL"
    match value, kind:
        case int(), "timestamp":
            return equals(name, time_of(value), kind)
        case datetime(), "timestamp":
            text = f"'{iso(value)}Z'" if FIRST <= value < LAST else ""
        case int() | date(), "date":
            text = f"'{date_of(value) if isinstance(value, int) else value}'"
        case (bool(), _) | (int(), "tinyint" | "smallint" | "int" | "bigint"):
            text = str(value).lower()
        case str(), "string":
            text = "'" + value.replace("'", "''") + "'"
        case _:
            text = ""
    return text and f"`{name}` = {text}"
