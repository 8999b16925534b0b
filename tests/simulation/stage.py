"""Stage: what stands in for the plan of a repair and its computation. It gives one row of the table
another number, and leaves what a real one leaves, in its order.
"""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.noted_versions import newest_noted
from spark_jobs.errors import StagingStale
from spark_jobs.journal.runner import settle
from spark_jobs.ops import repairs
from spark_jobs.repair.exchange.preconditions import refuse_done, withdraw
from spark_jobs.repair.find.lost import refuse_unreachable
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline
from spark_jobs.storage.pin import Pin
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta import door
from spark_jobs.table.delta.table import Delta
from spark_jobs.values.spans import Span
from tests.harness import roots
from tests.simulation import excising
from tests.simulation.bucket import local
from tests.simulation.model import BAD_SALES, Begins, Found, Key, Swap
from tests.simulation.places import arrived
from tests.simulation.rows import EVENING, row_of, rows_in
from tests.simulation.schedule import COMPUTES
from tests.simulation.topic import Topic
from tests.unit.repaired import SPEC, Root, hour, late

LATE = 1_000
"""Behind it are the offsets of late records: each repair has one."""
MORE = 100
"""What late records add to a row's number."""


class Plan(NamedTuple):
    """What is to be computed."""

    repair: str
    key: Key
    before: int
    version: int
    """Of the table, with which it is compared."""
    topic: Begins
    generation: str
    changes: bool
    """Whether its records are in no row yet."""
    inputs: dict[str, Pin]
    """The version of the table beside the stream that it reads."""
    gone: str | None
    """Why its record is excised; None if it is not."""


def planned(
    spec: Pipeline, paths: Paths, topic: Topic, repair: str, key: Key, *, changes: bool
) -> Plan | None:
    """None without such a row, and of one that failed its check."""
    settle(paths, f"plan of {repair}")
    known = read_identity(paths)
    if known is None or not door.is_table(paths.table):
        return None
    version = Delta(paths.table).version()
    before = rows_in(local(paths.table), version).get(key)
    if before in {None, BAD_SALES}:
        return None
    assert before is not None
    inputs = newest_noted(Checkpoint(paths.checkpoint), spec)
    gone = excising.why(paths, key.offset, repair=True)
    return Plan(repair, key, before, version, topic.now, known.generation, changes, inputs, gone)


def stage(
    plan: Plan, spec: Pipeline, paths: Paths, settings: Settings, topic: Topic
) -> Swap | Found:
    """What it does to the table. Raises as stage (repair/stage.py) does."""
    settle(paths, f"stage of {plan.repair}")
    refuse_done(paths, plan.repair)
    known = read_identity(paths)
    if known is None or known.generation != plan.generation:
        raise StagingStale.generation_changed(pipeline=SPEC.name)
    wanted: Any = SimpleNamespace(
        parts={0: ((plan.key.offset, plan.key.offset + 1),)},
        topic_id=f"topic-{plan.topic.topic}",
        current=False,
        inputs=plan.inputs,
        repair_id=plan.repair,
    )
    refuse_unreachable(spec, settings, wanted)
    with lease(paths.staging_lease, f"stage of {plan.repair}") as held:
        withdraw(paths, plan.repair, f"stage of {plan.repair}")
        # From the records that are there now: of a topic that was made anew others.
        after = plan.before + MORE + MORE * (topic.now.topic - plan.topic.topic)
        arrived(COMPUTES)
        held.confirm()
        kind = "repair" if plan.repair[0] == "r" else "excise"
        told = {
            "pipeline": SPEC.name,
            "repair_id": plan.repair,
            "generation": plan.generation,
            "state": "staged",
            "kind": kind,
            "request": json.dumps({"run": f"stage-{plan.repair}"}),
            "horizon": json.dumps({0: plan.key.offset + 1}),
            "batch": plan.key.offset,
        }
        repairs.put(paths.root, [told])
        end = hour(EVENING + plan.key.offset)
        changed = [*_changed(plan, local(paths.table), end, after)]
        Root(settings.root, paths=paths).stage(
            plan.repair,
            changed,
            (Span(end - timedelta(hours=1), end),),
            table_version=plan.version,
            merged=(late(LATE + int(plan.repair[1:]), end),) if kind == "repair" else (),
            inputs=plan.inputs,
            newly_bad=int(plan.gone is not None),
            kind=kind,
        )
        if plan.gone:
            bad = (paths, plan.key.offset, f"stage-{plan.repair}", plan.key.offset, plan.gone)
            excising.stage_bad(paths, plan.repair, excising.quarantined(*bad))
    if not changed:
        return Found(plan.repair, plan.key)
    return Swap(plan.repair, plan.key, plan.before, plan.before + MORE * plan.changes)


def _changed(
    plan: Plan, table: Path, end: datetime, after: int
) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Rows of the hour, with what takes their place."""
    for row in roots.rows_of(table, plan.version):
        if row["windowEnd"] == end and plan.gone:
            yield row, None
        elif row["windowEnd"] == end:
            ids = [row["shop"], str(plan.inputs["shops"].version)]
            sales = after if plan.changes and row["shop"] == plan.key.shop else row["sales"]
            made = row_of(plan.key._replace(shop=row["shop"]), sales) | {"ids": ids}
            if (row["sales"], row["ids"]) != (sales, ids):
                yield row, made
