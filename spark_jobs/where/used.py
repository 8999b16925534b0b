"""Used: which repairs and replays have used a record, by ops.merged and ops.repairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.messages.kind import SWAP_KINDS
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.merged import TAKEN_OUT
from spark_jobs.source.positions import Positions
from spark_jobs.spec.analysis.ranged import ranged, unranged
from spark_jobs.values.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from spark_jobs.ops.schema import Row
    from spark_jobs.source.place import Place
    from spark_jobs.spec import Pipeline
    from spark_jobs.where.known import Known

DID = {
    "swapped": "has computed its rows again",
    "canonical": "has computed its rows again, and found them as they were",
    "undone": "had computed its rows again, and was undone",
}
"""State of a repair -> what it did to rows of its ranges."""
FATES = {
    "merged": "has put it into the rows",
    "duplicate": "has found it to be a copy of a record in the rows",
    "filtered": "has found that the steps leave it out",
}


def swapped(known: Known) -> list[Row]:
    """The repairs of the checkpoint that were to change rows, by their versions."""
    of = ops_tables.among("generation", known.generations)
    kinds = ops_tables.among("kind", SWAP_KINDS)
    found = repairs.stored(
        known.paths.root,
        known.paths.pipeline,
        f"{of} AND {kinds} AND {ops_tables.among('state', DID)}",
    )
    return [row for row in found if not row["repair_id"].endswith(repairs.UNDO)]


def by_merging(rows: Iterable[Row], after: Iterable[Row]) -> tuple[tuple[str, ...], int | None]:
    """Of a record that was kept: its rows of ops.merged in words, and the version by which it came
    into the rows. `after`: as swapped has them.
    """
    versions = {row["repair_id"]: row["table_version"] for row in after}
    told, version = [], None
    for row in rows:
        name, fate = row["repair_id"], row["fate"]
        if row["source"] == TAKEN_OUT:
            by = row["taken_out_by"]
            told.append(f"repair {name} had put it into the rows, and {by} has taken it out again")
            continue
        told.append(f"repair {name} {FATES.get(fate, f'could not use it: {fate}')}")
        if fate == "merged":
            version = versions.get(name)
    return tuple(told), version


def by_range(
    spec: Pipeline, rows: Iterable[Row], place: Place, at: datetime | None
) -> Iterator[str]:
    """Of a record that a batch has accepted: the repairs that computed rows which it is in."""
    if at is None or unranged(spec):
        return
    touched = ranged(spec).touched(at, partition=place.partition)
    for row in rows:
        horizon = Positions.of_json(row["horizon"])
        spans = (Span(each["start"], each["end"]) for each in row["ranges"] or ())
        if horizon.passed(place) and any(map(touched.overlaps, spans)):
            yield f"{row['kind']} {row['repair_id']} {DID[row['state']]}"
