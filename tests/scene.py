"""A scene for tests: a real topic with the generator's mess and its ledger, a root of its own, and drains over it."""

from __future__ import annotations

import itertools
import time
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa

from local import ledger
from local.deliveries import Mess, deliver, split
from local.flights import flight_events
from local.publish import publish
from spark_jobs import ops
from spark_jobs.checkpoint import Checkpoint
from spark_jobs.contract import registry
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from tests import oracle

MESS = Mess(duplicate_share=0.05, late_share=0.02, malformed_share=0.02, premature_share=0.005)
"""Messier than usual, so that small scenes have something of everything."""
ENTERS = {
    "flight_events": "true",
    "departure_delays": "event_type = 'departure'",
    "aircraft_rotations": "event_type = 'departure' AND NOT cancelled AND tail_number IS NOT NULL",
}


class Scene:
    """A topic, what was delivered to it, and a pipeline's root."""

    def __init__(self, kafka: str, folder: Path, pipeline: str | Pipeline, *, events: int = 6000, deliveries: int = 3,
                 seed: int = 7, mess: Mess = MESS, topic: str | None = None, **changes: Any) -> None:
        self.topic = topic or f"flights-{uuid.uuid4().hex[:8]}"
        self.ledger_folder = folder / "ledger"
        self.kafka = kafka
        spec = registry.load(pipeline) if isinstance(pipeline, str) else pipeline
        self.spec: Pipeline = spec.model_copy(update={"topic": spec.topic.model_copy(update={"name": self.topic}), **changes})
        self.settings = Settings.from_environment()._replace(kafka=kafka, root=str(folder / "root"))
        self.paths = Paths(self.settings.root, self.spec)
        records = deliver(itertools.islice(flight_events(date(2013, 1, 1), 1), events), mess, seed)
        self._parts = iter(enumerate(split(records, deliveries), 1))

    def deliver(self) -> dict[str, int]:
        """Publish the next delivery; the counts by kind."""
        number, records = next(self._parts)
        counts: dict[str, int] = publish(self.kafka, self.topic, records, number, self.ledger_folder, 4)
        return counts

    def deliver_all(self) -> None:
        """Publish everything that is left."""
        for number, records in self._parts:
            publish(self.kafka, self.topic, records, number, self.ledger_folder, 4)

    @property
    def ledger(self) -> pa.Table:
        return ledger.read(self.ledger_folder)

    def ops(self, table: str, columns: str = "*") -> list[dict[str, Any]]:
        """Rows of an ops table."""
        rows: list[dict[str, Any]] = ops.query(self.paths.root, table, f'SELECT {columns} FROM {table}').to_pylist()
        return rows

    def late(self) -> set[oracle.Place]:
        """Where the records are that ops.late holds; each once."""
        places = [(row["partition"], row["offset"]) for row in self.ops("late")]
        assert len(places) == len(set(places)), "a late record is recorded twice"
        return set(places)

    def table(self) -> list[dict[str, Any]]:
        """The output, read without Spark."""
        builder = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(self.paths.table)))
        rows: list[dict[str, Any]] = pa.table(builder.execute("SELECT * FROM t").read_all()).to_pylist()
        return rows

    def wait_past_the_last_batch(self, milliseconds: int) -> None:
        """Until the clock is that far past the time of the last batch."""
        checkpoint = Checkpoint(self.paths.checkpoint)
        due = checkpoint.batch(checkpoint.committed()[-1]).clock_ms + milliseconds
        while time.time() * 1000 <= due:
            time.sleep(0.05)

    def assert_exact(self) -> None:
        """The table is the canonical result less what was late; what was kept aside is the ledger's; nothing is unaccounted."""
        batches = self.assert_table()
        ends = [_offsets(row["offsets_end"]) for row in batches]
        assert self.spec.watermark_delay is not None
        assert self.late() == oracle.late_places(self.ledger, ends, ENTERS[self.spec.name], self.spec.watermark_delay)
        self._assert_quarantine()
        self._assert_counts(batches)

    def assert_table(self) -> list[dict[str, Any]]:
        """The table is the canonical result less what was late, and nothing is unaccounted. The batches, in order."""
        batches = sorted(self.ops("batches"), key=lambda row: row["batch_id"])
        assert [row["batch_id"] for row in batches] == list(range(len(batches)))
        assert sum(row["unaccounted"] for row in batches) == 0
        watermark = batches[-1]["watermark"] or datetime(1970, 1, 1, tzinfo=UTC)
        expected = oracle.RESULTS[self.spec.name](oracle.events(self.ledger, self.late()), watermark)
        found, wanted = Counter(oracle.comparable(self.table())), Counter(oracle.comparable(expected))
        assert sorted((found - wanted).elements(), key=repr)[:5] == [], "rows that should not be there (the first 5)"
        assert sorted((wanted - found).elements(), key=repr)[:5] == [], "rows that are missing (the first 5)"
        return batches

    def _assert_quarantine(self) -> None:
        bad = [row for row in self.ledger.to_pylist() if row["kind"] in {"malformed", "premature"}]
        kept = {(row["partition"], row["offset"]): row for row in self.ops("quarantine")}
        assert len(kept) == len(self.ops("quarantine")) == len(bad)
        for row in bad:
            found = kept[row["partition"], row["offset"]]
            assert found["kind"] == row["kind"]
            assert found["reason"]
            assert row["kind"] == "premature" or found["value"] == row["value"]

    def _assert_counts(self, batches: list[dict[str, Any]]) -> None:
        total = {name: sum(row[name] for row in batches) for name in ("read", "malformed", "premature", "late", "rows_out")}
        kinds = self.ledger.column("kind").to_pylist()
        assert total["read"] == len(kinds)
        assert total["malformed"] == kinds.count("malformed")
        assert total["premature"] == kinds.count("premature")
        assert total["late"] == len(self.late())
        assert total["rows_out"] == len(self.table())


def _offsets(text: str) -> dict[int, int]:
    import json  # noqa: PLC0415

    return {int(p): o for p, o in json.loads(text).items()}


Say = Callable[[str], None]
