"""What a form must have written, from the ledger and the end offsets, and whether it has."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.topics.flights import FLIGHTS
from tests.harness import oracle, replay
from tests.harness.compare import assert_same
from tests.harness.replay import Offsets, Place
from tests.harness.scene import Scene
from tests.spark.operators import Operator

Row = dict[str, Any]


class Truth(NamedTuple):
    """The table's rows, the late records with what each missed, and the last watermark."""

    rows: list[Row]
    late: dict[Place, datetime]
    watermark: datetime | None


def truth(operator: Operator, ledger: pa.Table, ends: Sequence[Offsets]) -> Truth:
    """Of a pipeline whose batches ended at those offsets, by nothing that Sluice wrote."""
    delay = operator.spec.watermark_delay
    watermark = replay.watermark(ledger, ends, operator.enters, delay) if delay else None
    late = (
        replay.late(ledger, ends, operator.enters, delay, operator.until)
        if delay and operator.until
        else {}
    )
    return Truth(_rows(operator.sql, ledger, late, watermark), late, watermark)


def canonical(operator: Operator, ledger: pa.Table, until: datetime) -> list[Row]:
    """What one computation over all good records gives, none of them late, by that watermark."""
    return _rows(operator.sql, ledger, {}, until)


def ends(made: Scene) -> list[Offsets]:
    """Where the batches ended, as Spark's checkpoint has it."""
    checkpoint = Checkpoint(made.paths.checkpoint)
    return [checkpoint.batch(batch).end.by_partition for batch in checkpoint.committed()]


def hold(made: Scene, operator: Operator) -> Truth:
    """Table, ops.late and ops.quarantine are what they must be; gives the truth."""
    known = truth(operator, made.ledger, ends(made))
    assert_same(
        (
            (row["partition"], row["offset"], _utc(row["watermark_missed"]))
            for row in made.ops("late")
        ),
        ((*place, missed) for place, missed in known.late.items()),
        "ops.late",
    )
    _hold_what_was_kept(made, known)
    assert_same(oracle.comparable(made.table()), oracle.comparable(known.rows), "the table")
    return known


def _hold_what_was_kept(made: Scene, known: Truth) -> None:
    """Each bad record is kept as what it is, a malformed one to the byte, others by id."""
    sent = {(row["partition"], row["offset"]): row for row in made.ledger.to_pylist()}
    kept = dict(_placed(made.ops("quarantine")))
    assert_same(
        ((place, row["kind"]) for place, row in _placed(made.ops("quarantine"))),
        (
            (place, row["kind"])
            for place, row in sent.items()
            if row["kind"] in {"malformed", "premature"}
        ),
        "ops.quarantine",
    )
    for place, row in kept.items():
        if row["kind"] == "malformed":
            assert row["value"] == sent[place]["value"], (
                f"{place} is not kept as it was sent, {sent[place]['reason']}"
            )
            assert row["reason"], (
                f"nothing says what is wrong with {place}, {sent[place]['reason']}"
            )
    whole = [
        *((place, row) for place, row in kept.items() if row["kind"] == "premature"),
        *_placed(made.ops("late")),
    ]
    assert_same(
        ((place, json.loads(row["value"])["event_id"]) for place, row in whole),
        ((place, sent[place]["event_id"]) for place, _ in whole),
        "what is kept of premature and late records",
    )


def _placed(rows: Iterable[Row]) -> list[tuple[Place, Row]]:
    return [((row["partition"], row["offset"]), row) for row in rows]


def _rows(sql, ledger, late, watermark) -> list[Row]:
    missed = [
        {"partition": partition, "offset": offset, "missed_until": at}
        for (partition, offset), at in late.items()
    ]
    schema = pa.schema(
        [
            ("partition", pa.int32()),
            ("offset", pa.int64()),
            ("missed_until", pa.timestamp("us", "UTC")),
        ]
    )
    with duckdb.connect() as db:
        db.sql("SET TimeZone = 'UTC'")
        db.register("ledger", ledger)
        db.register("late", pa.Table.from_pylist(missed, schema))
        db.sql(f"""CREATE TEMP TABLE records AS SELECT {", ".join(FLIGHTS.columns)}, delivery, missed_until
                   FROM ledger LEFT JOIN late USING ("partition", "offset") WHERE kind IN ('good', 'duplicate')""")
        parameters = {"watermark": watermark} if "$watermark" in sql else None
        rows: list[Row] = db.sql(sql, params=parameters).to_arrow_table().to_pylist()
    return [
        {name: value for name, value in row.items() if name not in {"delivery", "missed_until"}}
        for row in rows
    ]


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)
