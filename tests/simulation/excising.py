"""Excising: notes of records that are taken out, and what a drain and a repair make of them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import deltalake
import pyarrow as pa
from upath import UPath

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.excised import text_of
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.excise.adopt import taken_over
from spark_jobs.excise.note import Excision, keep, slots_of
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.repair.exchange.exchange import BAD
from spark_jobs.source.place import Place
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.live_place import rebuilt
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.spans import EPOCH, MICROSECOND
from tests.simulation.bucket import local
from tests.simulation.rows import EVENING
from tests.unit.repaired import SPEC, hour


def note(root: UPath, name: str, topic_id: str, offsets: tuple[int, ...]) -> None:
    """What `sluice excise` notes first."""
    made = Excision(
        id=name, topic=SPEC.topic.place, topic_id=topic_id, where="wrong",
        start=_time(min(offsets)), end=_time(max(offsets) + 1), reason="wrong", who="ana",
        at=datetime.now(UTC), records=len(offsets), places=text_of(Place(0, n) for n in offsets),
        slots=slots_of((_time(n) - EPOCH) // MICROSECOND for n in offsets),
    )  # fmt: skip
    keep(root, made)


def _time(offset: int) -> datetime:
    return hour(EVENING + offset) - timedelta(minutes=30)


def take_over(spec: Pipeline, following: Pipeline, paths: Paths, who: str) -> None:
    """By the live place; and by the one beside, if there is one."""
    taken_over(spec, paths, who)
    if rebuilt(paths.above):
        taken_over(following, Paths(str(paths.root), following), who)


def why(paths: Paths, offset: int, *, repair: bool = False) -> str | None:
    """Why drains, or repairs, refuse the record; None if they take it."""
    known = read_failing(paths.failing)
    return (known.in_repairs if repair else known.reasons).get(Place(0, offset))


def quarantined(paths: Paths, batch: int, run_id: str, offset: int, reason: str) -> dict[str, Any]:
    """The row of ops.quarantine."""
    known = read_identity(paths)
    assert known is not None
    return {
        "pipeline": SPEC.name, "generation": known.generation, "batch_id": batch, "run_id": run_id,
        "topic": "sales", "partition": 0, "offset": offset, "value": b"{}", "kind": "malformed",
        "reason": reason, "planned_at": datetime.now(UTC),
    }  # fmt: skip


def stage_bad(paths: Paths, repair: str, row: dict[str, Any]) -> None:
    """What the stage of a repair that leaves the record out has for ops.quarantine."""
    folder = local(paths.staging(repair) / BAD)
    rows = pa.Table.from_pylist([row], SCHEMAS["quarantine"])
    deltalake.write_deltalake(str(folder), rows, mode="overwrite")
