"""Written: the root that the views show, of two pipelines whose texts are hostile; and their routes."""

import json
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.notes.published import Published
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import Problem, Report, StateUse
from spark_jobs.messages.state_answer import (
    Expiring,
    Expiry,
    KeySizes,
    LargeKey,
    Power,
    StateAnswer,
    StepAnswer,
    VariableAnswer,
)
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.storage.root.paths import Paths
from tests.harness import roots
from tests.unit.checkpoints import begin, commit_batch, plan_batch

MINE, OTHER = "departure_delays", "flight_events"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script>\"'>\u202eevil\x1b[31m\x00" + "x" * 1_100_000
PAGE = {"accept": "text/html"}
VALUE_OF = "secret of a person"
LATE = "?table=late&generation=g1&partition=0&offset=7"
BAD = "?table=quarantine&generation=g1&partition=0&offset=8"
QUESTIONS = {"run": "?run_id={run}", "record": LATE, "rejected": LATE}
"""The end of a path -> what it must be asked with."""
VALUE = rb'{"event_id": 7, "name": "secret of a person <script>", "\u001b[31m": "\u202e"}'
Client = Any


def checkpoint_of(folder: Path, name: str):
    """Three batches, of which two are published; the watermark is two hours behind the last."""
    spec = registry.load(name)
    paths = Paths(str(folder), spec)
    paths.ensure_writable()
    topic = spec.topic.name
    spark = begin(Path(str(paths.checkpoint)), {0: 0}, topic)
    for place in range(3):
        clock = int((NOON + timedelta(hours=place)).timestamp() * 1000)
        plan_batch(spark, place, {0: 100 * (place + 1)}, clock, topic)
        commit_batch(spark, place)
    made = fingerprint(spec, version("pyspark"))
    Identity(generation="g1", topic_id="t", fingerprint=made).write(paths.identity)
    Cursor(audited=2, judged=1).write(paths.cursor)
    Published(number=1, table_version=2, batch=1).fix(paths)
    rows = (("secret of a person", HOSTILE[:1000]),)
    variable = VariableAnswer(title="7 rows", total=7, columns=("carrier", HOSTILE), rows=rows)
    sizes = KeySizes(
        columns=("carrier", HOSTILE), keys=7, rows=7, bytes=700, untimed=None,
        powers=(Power(power=6, keys=7),), largest=(LargeKey(key=rows[0], rows=1, bytes=120),),
    )  # fmt: skip
    due = (Expiring(hours=0, rows=1), Expiring(hours=9, rows=5))
    expiry = Expiry(
        variable=HOSTILE[:60],
        counted="rows",
        by="watermark",
        since=NOON,
        spans=due,
        later=0,
        never=1,
    )
    step = StepAnswer(
        step=2, kind="deduplicate", operator="dedupe", partitions=2, variables=(variable,),
        sizes=sizes, expiry=(expiry,),
    )  # fmt: skip
    StateAnswer(
        generation="g1", batch=2, watermark=NOON, read_at=NOON + timedelta(hours=1), steps=(step,)
    ).write(paths.state_answer)


def report_of(name: str, place: int) -> Report:
    began = NOON + timedelta(hours=place)
    failed = place == 2
    check = roots.check(
        "failed" if failed else "passed", "origin", type="expect_column_values_to_not_be_null",
        observed=str(place), sample=f'["{VALUE_OF}"]{HOSTILE}',
    )  # fmt: skip
    distinct = check.model_copy(update={"column": "name", "observed": f'["{VALUE_OF}"]'})
    broken = check.model_copy(update={"outcome": "broken", "observed": f"no {VALUE_OF} in it"})
    return roots.report(
        name,
        f"scheduled__{place}+00:00-try1",
        status="failed" if failed else "succeeded",
        problem=Problem(code="CHECK_FAILED", what=HOSTILE, remedy=HOSTILE) if failed else None,
        started_at=began,
        ended_at=began + timedelta(minutes=1),
        generation="g1",
        watermark=NOON,
        batches=(place,),
        offsets_end={"0": 100 * (place + 1)},
        account=Account(covered=100, read=100, accepted=90, duplicates=5, late=10, rows_out=85),
        state=StateUse(rows=1000 * (place + 1)),
        checks=(check, distinct, broken),
        seconds={"query": 3.0},
    )


def tables_of(root: Any, name: str):
    own = {"pipeline": name, "generation": "g1"}
    batches = [
        own
        | {
            "batch_id": place,
            "run_id": f"scheduled__{place}+00:00-try1",
            "audited_at": NOON + timedelta(hours=place),
            "read": 100,
            "accepted": 90,
            "filtered": place,
            "state_rows": 1000 * (place + 1),
            "state_bytes": 2**20 * (place + 1),
            "table_version": place + 1,
            "rows_out": 85,
            "offsets_start": json.dumps({"0": 100 * place}),
            "offsets_end": json.dumps({"0": 100 * (place + 1)}),
            "operators": [{"step": 0, "kind": "deduplicate", "numRowsTotal": 1000 * (place + 1)}],
        }
        for place in range(3)
    ]
    ops_tables.append(root, "batches", batches)
    record = own | {
        "batch_id": 2,
        "run_id": "scheduled__2+00:00-try1",
        "topic": "t",
        "partition": 0,
        "kafka_timestamp": NOON,
        "value": VALUE,
        "key": b"secret of a person",
        "headers": [
            {"key": HOSTILE[:1000], "value": HOSTILE.encode()},
            {"key": "carrier", "value": b"secret of a header"},
            {"key": "nothing", "value": None},
        ],
    }
    late = {
        "offset": 7,
        "step": "deduplicate",
        "event_time": NOON - timedelta(minutes=11),
        "watermark_missed": NOON - timedelta(minutes=1),
    }
    bad = {"offset": 8, "kind": "malformed", "reason": HOSTILE, "value": HOSTILE.encode() + b"\xff"}
    quoting = bad | {
        "offset": 9,
        "reason": f"step 1 (transform), a: a: CAST_INVALID_INPUT: {VALUE_OF}",
    }
    slices = [
        own
        | {"batch_id": place, "run_id": "r", "partition": 0, "records": 100, "late": 0}
        | {"first_offset": 100 * place, "last_offset": 100 * place + 99}
        | {
            "first_event_time": NOON - timedelta(days=2 - place),
            "last_event_time": NOON - timedelta(days=2 - place) + timedelta(hours=2),
        }
        for place in range(3)
    ]
    ops_tables.append(root, "slices", slices)
    ops_tables.append(root, "late", [record | late])
    ops_tables.append(root, "quarantine", [record | bad, record | quoting])
    checks = [
        own | {"suite": "output", "type": "expect_column_values_to_not_be_null", "column": "origin"}
        | {"checked_at": NOON + timedelta(hours=place, minutes=1), "observed": str(place)}
        for place in range(3)
    ]  # fmt: skip
    ops_tables.append(root, "checks", checks)


def routes() -> list[Any]:
    """All routes of the app, however they came into it."""
    from starlette.routing import Mount  # noqa: PLC0415

    from sluice_airflow.web.app import create_app  # noqa: PLC0415 - the home comes first

    found = create_app().routes
    assert not [each for each in found if isinstance(each, Mount)], "a mounted app asks nobody"
    return found


def addresses(pipeline: str, run: str = "scheduled__2%2B00%3A00-try1") -> list[str]:
    """An address of each route."""
    values = {
        "{pipeline}": pipeline,
        "{dag_id}": pipeline,
        "{name}": "sluice.js",
        "{dag_run_id:path}": "scheduled__2%2B00%3A00",
    }
    found = []
    for route in routes():
        path = route.path
        for name, value in values.items():
            path = path.replace(name, value)
        assert "{" not in path, f"give this test a value for {path}"
        question = QUESTIONS.get(path.rpartition("/")[2], "")
        found.append(path + question.format(run=run))
    assert len(found) > 23
    return found
