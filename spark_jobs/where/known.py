"""Known: which batch has an offset, and what its account says: of the live checkpoint alone."""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.identity import MadeBy, Present, read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.ops import accounts, ops_tables
from spark_jobs.repair.offsets.archived import NO_BATCH, beginning
from spark_jobs.source.positions import Positions, parts_of
from spark_jobs.where.asked import in_parts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.ops.schema import Row
    from spark_jobs.source.micro_batch import Batch
    from spark_jobs.source.place import Place
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths

COUNTS = ("read", "malformed", "premature", "filtered", "late", "accepted", "gaps", "unknown")
"""Outcomes, and what an account counts of offsets."""
COLUMNS = (
    "batch_id", "run_id", "offsets_start", "offsets_end", "late_before", "watermark",
    "table_version", *COUNTS,
)  # fmt: skip


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

    def has(self, place: Place) -> bool:
        return self.end.passed(place) and not self.start.passed(place)

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
    """The batches that have no account yet."""
    audited: int
    stages: frozenset[str]
    """The runs that computed repairs: what they found bad is in ops.quarantine too."""
    same_since: int
    """What was made by another spec than today's: this batch, and those before it; maybe."""

    @classmethod
    def read(cls, paths: Paths, spec: Pipeline) -> Known | None:
        """None without a checkpoint. Raises CheckpointBroken."""
        if (identity := read_identity(paths)) is None:
            return None
        audited = read_cursor(paths.cursor).audited
        rows = accounts.stored(paths, identity, COLUMNS)
        batches = tuple(Accounted.of(row) for row in rows if row["batch_id"] <= audited)
        checkpoint = Checkpoint(paths.checkpoint)
        return cls(
            paths,
            identity,
            batches,
            beginning(paths, identity.generations),
            tuple(checkpoint.batch(each) for each in checkpoint.planned() if each > audited),
            audited,
            _stages(paths),
            _same_since(identity, spec, audited),
        )

    @property
    def generations(self) -> tuple[str, ...]:
        return self.identity.generations

    def of(self, places: Iterable[Place]) -> dict[Place, Accounted]:
        """Of the places that a batch has whose account is there."""
        found: dict[Place, Accounted] = {}
        starts: dict[int, list[Place]] = {}
        having: dict[int, list[Accounted]] = {}
        for batch in self.batches:
            for first in batch.start.first(batch.end):
                starts.setdefault(first.partition, []).append(first)
                having.setdefault(first.partition, []).append(batch)
        for place in places:
            number = bisect_right(starts.get(place.partition, ()), place) - 1
            if number >= 0 and (batch := having[place.partition][number]).has(place):
                found[place] = batch
        return found

    def waiting(self, place: Place) -> int | None:
        """The batch without an account that has it."""
        return next((each.id for each in self.unaccounted if each.has(place)), None)

    def sliced(self, places: Collection[Place]) -> dict[Place, int]:
        """The batches that have them by ops.slices, which stay when accounts go; NO_BATCH of a
        record that a rebuild had from an archive.
        """
        own = ops_tables.of_checkpoint(self.paths.pipeline, self.generations)
        near = in_parts(parts_of(places), '"partition"', "first_offset", "last_offset")
        sql = (
            'SELECT "partition", first_offset, last_offset, batch_id FROM slices '
            f"WHERE {own} AND ({near})"
        )
        rows = ops_tables.query(self.paths.root, "slices", sql).to_pylist() if places else []
        of = [(r["partition"], r["first_offset"], r["last_offset"], r["batch_id"]) for r in rows]
        return {
            place: batch
            for place in places
            for partition, first, last, batch in of
            if partition == place.partition and first <= place.offset <= last
        }

    def end(self, batch: int) -> Positions:
        """Behind the last records of the batches up to this one."""
        found = Positions()
        for each in self.batches:
            if each.id <= batch:
                found |= each.end
        return found


def _stages(paths: Paths) -> frozenset[str]:
    of = ops_tables.equals({"pipeline": paths.pipeline})
    rows = ops_tables.query(paths.root, "repairs", f"SELECT request FROM repairs WHERE {of}")
    requests = (json.loads(row["request"] or "{}") for row in rows.to_pylist())
    return frozenset(run for each in requests if (run := each.get("run")))


def _same_since(identity: Identity, spec: Pipeline, audited: int) -> int:
    now = Present(spec).made_by
    was = MadeBy.model_validate(identity).filled_in(now)
    if _decides(was) != _decides(now):
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
