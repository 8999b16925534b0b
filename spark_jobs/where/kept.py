"""Kept: what the live checkpoint and the ops tables keep of records."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter, defaultdict
from functools import reduce
from operator import itemgetter, or_
from typing import TYPE_CHECKING, NamedTuple, Self

from spark_jobs.checkpoint.identity import MadeBy, Present, read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.messages.kind import SWAP_KINDS
from spark_jobs.ops import accounts, ops_tables
from spark_jobs.ops.terms import TAKEN_OUT, UNDO
from spark_jobs.repair.offsets.archived import NO_BATCH, beginning
from spark_jobs.repair.offsets.slices import in_few
from spark_jobs.source.place import Place, selected_sql
from spark_jobs.source.positions import Positions, parts_of
from spark_jobs.spec.analysis.ranged import ranged, unranged
from spark_jobs.values.spans import Span, any_of
from spark_jobs.values.times import time_of
from spark_jobs.where.fate import Became, Fate

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from datetime import datetime

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.ops.schema import Row
    from spark_jobs.source.micro_batch import Batch
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths

COUNTS = ("read", "malformed", "premature", "filtered", "late", "accepted", "gaps", "unknown")
"""Outcomes, and what an account counts of offsets."""
COLUMNS = (
    "batch_id", "run_id", "offsets_start", "offsets_end", "late_before", "watermark",
    "table_version", *COUNTS,
)  # fmt: skip
_OF_BOTH = 'pipeline, generation, batch_id, run_id, "partition", "offset", element, event_time'
_REJECTED = (
    f"(SELECT {_OF_BOTH}, kind, reason, NULL AS watermark_missed FROM quarantine UNION ALL "
    f"SELECT {_OF_BOTH}, '{Became.LATE}', 'the step ' || step || ' drops it', watermark_missed "
    "FROM late)"
)
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


class Accounted(NamedTuple):
    """A batch with its account."""

    id: int
    run_id: str
    start: Positions
    end: Positions
    late_before: datetime | None
    """Its records at or before it were late; None of none."""
    watermark: datetime | None
    table_version: int | None
    counts: dict[str, int | None]

    @classmethod
    def of(cls, row: Row) -> Accounted:
        start, end = (Positions.of_json(row[name]) for name in ("offsets_start", "offsets_end"))
        counts = {name: row[name] for name in COUNTS}
        named, marks = (row["batch_id"], row["run_id"]), (row["late_before"], row["watermark"])
        return cls(*named, start, end, *marks, row["table_version"], counts)

    def none(self, *names: str) -> bool:
        """Whether it counts none of these, and knows it."""
        return all(self.counts[name] == 0 for name in names)


class Known(NamedTuple):
    """The checkpoint of a pipeline's live place."""

    paths: Paths
    identity: Identity
    batches: tuple[Accounted, ...]
    """Ascending."""
    begins: Positions
    """At the first records that any batch has read."""
    unaccounted: tuple[Batch, ...]
    audited: int
    same_since: int
    """What was made by another spec than today's: this batch, and those before it; maybe."""

    @classmethod
    def read(cls, paths: Paths, spec: Pipeline) -> Known | None:
        """None without a checkpoint. Raises CheckpointBroken."""
        if (identity := read_identity(paths)) is None:
            return None
        audited, checkpoint = read_cursor(paths.cursor).audited, Checkpoint(paths.checkpoint)
        rows = accounts.stored(paths, identity, COLUMNS)
        planned = (checkpoint.batch(each) for each in checkpoint.planned() if each > audited)
        return cls(
            paths,
            identity,
            tuple(Accounted.of(row) for row in rows if row["batch_id"] <= audited),
            beginning(paths, identity.generations),
            tuple(planned),
            audited,
            _same_since(identity, spec, audited),
        )

    @property
    def own(self) -> str:
        """SQL for the rows that ops tables have of it."""
        return ops_tables.of_checkpoint(self.paths.pipeline, self.identity.generations)

    def of(self, places: Iterable[Place]) -> dict[Place, Accounted]:
        """Of the places that a batch has whose account is there."""
        having = defaultdict[int, list[tuple[Place, Accounted]]](list)
        for batch in self.batches:
            for first in batch.start.first(batch.end):
                having[first.partition].append((first, batch))
        found: dict[Place, Accounted] = {}
        for place in places:
            of_it = having.get(place.partition, ())
            number = bisect_right(of_it, place, key=itemgetter(0)) - 1
            if number >= 0 and of_it[number][1].end.passed(place):
                found[place] = of_it[number][1]
        return found

    def sliced(self, places: Collection[Place]) -> dict[Place, int]:
        """The batches that have them by ops.slices, which stay when accounts go; or NO_BATCH."""
        near = _near(parts_of(places), "first_offset", "last_offset")
        columns = '"partition", first_offset, last_offset, batch_id'
        sql = f"SELECT {columns} FROM slices WHERE {self.own} AND ({near})"
        rows = ops_tables.query(self.paths.root, "slices", sql).to_pylist()
        return {
            place: batch
            for place in places
            for partition, first, last, batch in map(dict.values, rows)
            if partition == place.partition and first <= place.offset <= last
        }

    def end(self, batch: int) -> Positions:
        """Behind the last records of the batches up to this one."""
        ends = (each.end for each in self.batches if each.id <= batch)
        return reduce(or_, ends, Positions())


def _same_since(identity: Identity, spec: Pipeline, audited: int) -> int:
    now = Present(spec).made_by
    if _decides(MadeBy.model_validate(identity).filled_in(now)) != _decides(now):
        return audited
    before = identity.before
    return NO_BATCH if before is None else max(before.committed, before.written)


def _decides(made: MadeBy) -> tuple[object, ...]:
    """What of it a record's fate may depend on: not the stores, nor Spark's version."""
    fields = {
        name: value
        for name, value in made.fingerprint.items()
        if name != "spark" and not name.startswith("state.")
    }
    return fields, made.classification, made.environment and made.environment.imports


class Kept(NamedTuple):
    """By place, rows of the ops tables; of places near them too."""

    known: Known
    rejects: dict[Place, list[Row]]
    """Of ops.quarantine and ops.late."""
    merged: dict[Place, list[Row]]
    repairs: list[Row]
    """Those of the checkpoint that were to change rows, by their versions."""
    stages: frozenset[str] = frozenset()
    """The runs that computed repairs: what they found bad is in ops.quarantine too."""

    @classmethod
    def read(cls, known: Known, parts: Parts) -> Self:
        at = "batch_id, run_id, CAST(event_time AS BIGINT) AS at, kind, reason, watermark_missed"
        merged = "source, repair_id, fate, taken_out_by FROM merged"
        columns = "repair_id, kind, state, generation, table_version, horizon, ranges, request"
        own = ops_tables.equals({"pipeline": known.paths.pipeline})
        sql = f"SELECT {columns} FROM repairs WHERE {own} ORDER BY table_version"
        repairs = ops_tables.query(known.paths.root, "repairs", sql).to_pylist()
        requests = (json.loads(row["request"] or "{}") for row in repairs)
        changed = [
            row
            for row in repairs
            if row["generation"] in known.identity.generations
            and (row["kind"] in SWAP_KINDS and row["state"] in DID)
            and not row["repair_id"].endswith(UNDO)
        ]
        return cls(
            known,
            _rows(known, parts, f"{at} FROM {_REJECTED}", "quarantine", "late"),
            _rows(known, parts, merged, "merged"),
            changed,
            frozenset(run for each in requests if (run := each.get("run"))),
        )

    def rejected(self, place: Place, batch: Accounted | None) -> list[Row]:
        """Why its own batch has rejected it, if so: a repair's run may have found it bad too."""
        return [
            row
            for row in self.rejects.get(place, ())
            if row["run_id"] not in self.stages and (batch is None or row["batch_id"] == batch.id)
        ]

    @property
    def aside(self) -> list[tuple[int, int, int, str]]:
        """The records that batches had as malformed, with the reasons: a step may fail on them."""
        own = ((place, row) for place in self.rejects for row in self.rejected(place, None))
        return [(*place, r["reason"]) for place, r in own if r["kind"] == Became.MALFORMED]

    def fate(self, spec: Pipeline, place: Place, batch: Accounted | None) -> Fate | None:
        """Of a record that its own batch has rejected."""
        if not (own := self.rejected(place, batch)):
            return None
        row, by, why = own[0], None, own[0]["reason"]
        at = None if row["at"] is None else time_of(row["at"])
        if (missed := row["watermark_missed"]) and at and not isinstance(at, str):
            by = missed - at
            window = spec.entry.grouping_window if spec.entry else None
            if (end := window and window.last_end(at)) and end > missed:
                why += " from windows that had ended; it is in those that ended later"
        fate = Fate(place, Became(row["kind"]), why, row["batch_id"], row["run_id"], at, missed, by)
        versions = {each["repair_id"]: each["table_version"] for each in self.repairs}
        for used in self.merged.get(place, ()):
            did = _FATES.get(used["fate"], f"could not use it: {used['fate']}")
            if used["source"] == TAKEN_OUT:
                did = f"had put it into the rows, and {used['taken_out_by']} has taken it out again"
            elif used["fate"] == "merged":
                fate = fate._replace(table_version=versions.get(used["repair_id"]))
            fate = fate._replace(used_by=(*fate.used_by, f"repair {used['repair_id']} {did}"))
        return self.found_bad(fate, batch)

    def found_bad(self, fate: Fate, batch: Accounted | None) -> Fate:
        """With what repairs have found of it."""
        own = self.rejected(fate.place, batch)[:1]
        rows = (row for row in self.rejects.get(fate.place, ()) if row not in own)
        bad = (f"run {row['run_id']} found it {row['kind']}: {row['reason']}" for row in rows)
        return fate._replace(used_by=(*fate.used_by, *bad))

    def computed_again(self, spec: Pipeline, place: Place, at: datetime | None) -> Iterator[Row]:
        """Of a record that a batch has accepted: the repairs that computed rows which it is in."""
        if at is None or not self.repairs or unranged(spec):
            return
        touched = ranged(spec).touched(at, partition=place.partition)
        for row in self.repairs:
            spans = (Span(each["start"], each["end"]) for each in row["ranges"] or ())
            horizon = Positions.of_json(row["horizon"])
            if horizon.passed(place) and any(map(touched.overlaps, spans)):
                yield row

    def whole(self, batches: Iterable[Accounted]) -> set[int]:
        """Those of the batches of which every rejected record is kept still."""
        if not (asked := {each.id: each for each in batches}):
            return set()
        near = f"{self.known.own} AND batch_id BETWEEN {min(asked)} AND {max(asked)}"
        counts = "SELECT batch_id, run_id, kind, count(*) AS n"
        sql = f"{counts} FROM {_REJECTED} WHERE {near} GROUP BY 1, 2, 3"
        of, root = Counter[tuple[int, str]](), self.known.paths.root
        for row in ops_tables.query(root, "quarantine", sql, "late").to_pylist():
            if row["run_id"] not in self.stages:
                of[row["batch_id"], row["kind"]] += row["n"]
        kinds = (Became.MALFORMED, Became.PREMATURE, Became.LATE)
        return {b for b, each in asked.items() if all(each.counts[k] == of[b, k] for k in kinds)}


def _rows(known: Known, parts: Parts, of: str, table: str, *others: str) -> dict[Place, list[Row]]:
    found: dict[Place, list[Row]] = defaultdict(list)
    near = _near(parts, '"offset"', '"offset"')
    sql = f"SELECT {selected_sql()}, {of} WHERE {known.own} AND ({near})"
    for row in ops_tables.query(known.paths.root, table, sql, *others).to_pylist():
        found[Place.of_row(row)].append(row)
    return found


def _near(parts: Parts, first: str, last: str) -> str:
    """SQL for rows whose offsets, from one column to another, overlap the ranges or are near."""
    found = any_of(
        f'("partition" = {number} AND {last} >= {begin} AND {first} < {stop})'
        for number, ranges in in_few(parts).items()
        for begin, stop in ranges
    )
    return found or "false"
