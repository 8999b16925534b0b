"""What a table must hold once a repair is whole, and what it would hold once what is staged is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.repair.manifest import read_manifest
from spark_jobs.table.delta.door import open_table
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.replay import Place
from tests.harness.scene import Scene

Row = dict[str, Any]
Bag = Counter[tuple[Any, ...]]
REACH = {"aircraft_rotations": timedelta(hours=48)}
"""How long after a departure a row can be about it; of the other pipelines what is late is final."""
SLACK = timedelta(hours=3)
"""A copy may be that far away."""


class Whole(NamedTuple):
    """The canonical result at the time of a plan, and the late records that were known then."""

    rows: list[Row]
    late: dict[Place, datetime]
    """Place -> event time."""
    watermark: datetime

    @classmethod
    def of(cls, scene: Scene) -> Whole:
        checkpoint = Checkpoint(scene.paths.checkpoint)
        watermark = checkpoint.batch(checkpoint.committed()[-1]).watermark
        assert watermark is not None
        late = {
            (row["partition"], row["offset"]): row["event_time"].astimezone(UTC)
            for row in scene.ops("late")
            if row["pipeline"] == scene.spec.name
        }
        found = oracle.events(scene.ledger, set())
        return cls(oracle.RESULTS[scene.spec.name](found, watermark), late, watermark)

    def with_more(self, rows: list[Row]) -> Whole:
        """With what a drain has written since."""
        return self._replace(rows=[*self.rows, *rows])

    def hold(self, scene: Scene) -> None:
        """The table is canonical, wherever no record waits whose rows are not final."""
        settled = {
            (row["partition"], row["offset"])
            for row in scene.ops("merged")
            if row["pipeline"] == scene.spec.name
        }
        waiting = [at for place, at in self.late.items() if place not in settled]
        reach = REACH.get(scene.spec.name)
        for at in waiting:
            assert reach
            assert at + reach + SLACK > self.watermark, f"the record of {at} waits"

        def final(row: Row) -> bool:
            return not reach or not any(
                at - SLACK <= row["closed_at"].astimezone(UTC) <= at + reach + SLACK
                for at in waiting
            )

        table = bag(filter(final, scene.table()))
        wanted = bag(filter(final, self.rows))
        assert_same(table.elements(), wanted.elements(), "the repaired table")


def staged(scene: Scene, repair_id: str) -> list[Row]:
    """The table's rows with the staged ones in the place of those in the ranges that differ."""
    manifest = read_manifest(scene.paths, repair_id)
    column, edge = manifest.position

    def differs(row: Row) -> bool:
        at = row[column].astimezone(UTC)
        return any(
            span.start < at <= span.end if edge == "end" else span.start <= at < span.end
            for span in manifest.differing
        )

    rows: list[Row] = (
        open_table(scene.paths.staging(repair_id) / "rows").to_pyarrow_table().to_pylist()
    )
    stays = [row for row in scene.table() if not differs(row)]
    return [*stays, *filter(differs, rows)]


def bag(rows: Iterable[Row]) -> Bag:
    return Counter(oracle.comparable(list(rows)))


def less(rows: list[Row], known: Bag) -> list[Row]:
    """Those of the rows that are not known."""
    left = Counter(known)
    found = []
    for row in rows:
        [key] = oracle.comparable([row])
        if left[key]:
            left[key] -= 1
        else:
            found.append(row)
    return found
