"""Kept: what the ops tables keep of some records: why they were rejected, and which repairs and
replays have used them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple, Self

from spark_jobs.messages.kind import SWAP_KINDS
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.terms import TAKEN_OUT, UNDO
from spark_jobs.source.place import Place, selected_sql
from spark_jobs.source.positions import Positions
from spark_jobs.spec.analysis.ranged import ranged, unranged
from spark_jobs.values.spans import Span
from spark_jobs.values.times import time_of
from spark_jobs.where.asked import in_parts, within
from spark_jobs.where.fate import Became, Fate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from spark_jobs.ops.schema import Row
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline
    from spark_jobs.where.known import Accounted, Known

_COLUMNS = {
    "late": "batch_id, run_id, CAST(event_time AS BIGINT) AS at, watermark_missed, step",
    "quarantine": "batch_id, run_id, CAST(event_time AS BIGINT) AS at, kind, reason",
    "merged": "source, repair_id, fate, taken_out_by",
}
DID = {
    "swapped": "has computed its rows again",
    "canonical": "has computed its rows again, and found them as they were",
    "undone": "had computed its rows again, and was undone",
}
"""State of a repair -> what it did to rows of its ranges."""
_FATES = {
    "merged": "has put it into the rows",
    "duplicate": "has found it to be a copy of a record in the rows",
    "filtered": "has found that the steps leave it out",
}


class Kept(NamedTuple):
    """By place, rows of the ops tables."""

    known: Known
    late: dict[Place, list[Row]]
    quarantine: dict[Place, list[Row]]
    merged: dict[Place, list[Row]]
    repairs: list[Row]
    """Those of the checkpoint that were to change rows, by their versions."""

    @classmethod
    def read(cls, known: Known, parts: Parts) -> Self:
        late, quarantine, merged = (_rows(known, table, parts) for table in _COLUMNS)
        return cls(known, late, quarantine, merged, _repairs(known))

    def rejected(self, place: Place, batch: Accounted | None) -> Row | None:
        """Why its own batch has malformed, premature or late it; None if the batch has not. What a
        repair has found bad is in ops.quarantine too, by a run of its own.
        """
        own = (
            row
            for row in (*self.quarantine.get(place, ()), *self.late.get(place, ()))
            if row["run_id"] not in self.known.stages
            and (batch is None or row["batch_id"] == batch.id)
        )
        return next(own, None)

    @property
    def aside(self) -> list[tuple[int, int, int, str]]:
        """The records that batches had as malformed, with the reasons: a step may fail on them."""
        return [
            (*place, row["reason"])
            for place, rows in self.quarantine.items()
            for row in rows
            if row["kind"] == Became.MALFORMED and row["run_id"] not in self.known.stages
        ]

    def fate(self, spec: Pipeline, place: Place, batch: Accounted | None) -> Fate | None:
        """Of a record that its own batch has rejected."""
        if (row := self.rejected(place, batch)) is None:
            return None
        became, by = Became(row.get("kind", Became.LATE)), None
        why = f"the step {row['step']} drops it" if became is Became.LATE else row["reason"]
        at = None if row["at"] is None else time_of(row["at"])
        if (missed := row.get("watermark_missed")) and at and not isinstance(at, str):
            by = missed - at
            window = spec.entry.grouping_window if spec.entry else None
            if (end := window and window.last_end(at)) and end > missed:
                why += " from windows that had ended; it is in those that ended later"
        fate = Fate(place, became, why, row["batch_id"], row["run_id"], at, missed, by)
        told, version = self._merging(place)
        return self.found_bad(fate._replace(used_by=told, table_version=version), batch)

    def found_bad(self, fate: Fate, batch: Accounted | None) -> Fate:
        """With what repairs have found of it."""
        own = self.rejected(fate.place, batch)
        rows = (row for row in self.quarantine.get(fate.place, ()) if row is not own)
        bad = (f"run {row['run_id']} found it {row['kind']}: {row['reason']}" for row in rows)
        return fate._replace(used_by=(*fate.used_by, *bad))

    def _merging(self, place: Place) -> tuple[tuple[str, ...], int | None]:
        """Its rows of ops.merged in words, and the version by which it came into the rows."""
        versions = {row["repair_id"]: row["table_version"] for row in self.repairs}
        told, version = [], None
        for row in self.merged.get(place, ()):
            name, fate = row["repair_id"], row["fate"]
            if row["source"] == TAKEN_OUT:
                by = row["taken_out_by"]
                told.append(
                    f"repair {name} had put it into the rows, and {by} has taken it out again"
                )
                continue
            told.append(f"repair {name} {_FATES.get(fate, f'could not use it: {fate}')}")
            version = versions.get(name) if fate == "merged" else version
        return tuple(told), version

    def computed_again(self, spec: Pipeline, place: Place, at: datetime | None) -> Iterator[Row]:
        """Of a record that a batch has accepted: the repairs that computed rows which it is in."""
        if at is None or not self.repairs or unranged(spec):
            return
        touched = ranged(spec).touched(at, partition=place.partition)
        for row in self.repairs:
            horizon = Positions.of_json(row["horizon"])
            spans = (Span(each["start"], each["end"]) for each in row["ranges"] or ())
            if horizon.passed(place) and any(map(touched.overlaps, spans)):
                yield row

    def whole(self, batches: Iterable[Accounted]) -> set[int]:
        """Those of the batches of which every rejected record is kept still."""
        asked = {each.id: each for each in batches}
        if not asked:
            return set()
        own = ops_tables.of_checkpoint(self.known.paths.pipeline, self.known.generations)
        near = f"{own} AND batch_id BETWEEN {min(asked)} AND {max(asked)}"
        of = Counter[tuple[int, str]]()
        for table, kind in (("quarantine", "kind"), ("late", "'late'")):
            sql = (
                f"SELECT batch_id, run_id, {kind} AS kind, count(*) AS n FROM {table} "
                f"WHERE {near} GROUP BY 1, 2, 3"
            )
            for row in ops_tables.query(self.known.paths.root, table, sql).to_pylist():
                if row["run_id"] not in self.known.stages:
                    of[row["batch_id"], row["kind"]] += row["n"]
        kinds = ("malformed", "premature", "late")
        return {b for b, each in asked.items() if all(each.counts[k] == of[b, k] for k in kinds)}


def _rows(known: Known, table: str, parts: Parts) -> dict[Place, list[Row]]:
    found = defaultdict[Place, list[dict[str, object]]](list)
    if not parts:
        return found
    near = in_parts(parts, '"partition"', '"offset"', '"offset"')
    own = ops_tables.of_checkpoint(known.paths.pipeline, known.generations)
    sql = f"SELECT {selected_sql()}, {_COLUMNS[table]} FROM {table} WHERE {own} AND ({near})"
    for row in ops_tables.query(known.paths.root, table, sql).to_pylist():
        if within(place := Place.of_row(row), parts):
            found[place].append(row)
    return found


def _repairs(known: Known) -> list[Row]:
    of = ops_tables.among("generation", known.generations)
    kinds = ops_tables.among("kind", SWAP_KINDS)
    found = repairs.stored(
        known.paths.root,
        known.paths.pipeline,
        f"{of} AND {kinds} AND {ops_tables.among('state', DID)}",
    )
    return [row for row in found if not row["repair_id"].endswith(UNDO)]
