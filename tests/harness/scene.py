"""Scene: a real topic with the generator's mess and its ledger, a root of its own, and drains."""

import itertools
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
from confluent_kafka import Producer

from local import ledger
from local.deliveries import Delivered, Mess, deliver, split
from local.flights import FlightEvent, flight_events
from local.publish import publish
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.messages.report import Report
from spark_jobs.registry import find as registry
from spark_jobs.runs.drain import drain
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.paths import Paths
from tests.harness import oracle
from tests.harness.lines import heard
from tests.harness.roots import ROOT, rows_of, told
from tests.harness.verifier import Verifier

MESS = Mess(duplicate_share=0.05, late_share=0.02, malformed_share=0.02, premature_share=0.005)
"""Messier than usual, so that small scenes have something of everything."""
SEED = 7

Encode = Callable[[Sequence[Delivered], int], Sequence[Delivered]]
"""A delivery and its number, from 1."""
A_MONTH = 40_000
"""Fewer events than any month has."""


@cache
def _flights(months: int) -> list[FlightEvent]:
    """Read once for all scenes: a year's table lies behind them."""
    return list(flight_events(date(2013, 1, 1), months))


@cache
def records(events: int) -> list[Delivered]:
    """So many events as a producer sends them, with MESS."""
    return deliver(itertools.islice(_flights(1 + events // A_MONTH), events), MESS, SEED)


class Scene:
    """A topic, what was delivered to it, and a root; unless `checked`, without output checks."""

    def __init__(  # noqa: PLR0913 - each is a choice of a test
        self,
        kafka: str,
        folder: Path,
        pipeline: str | Pipeline,
        *,
        events: int = 6000,
        deliveries: int = 3,
        topic: str | None = None,
        checked: bool = False,
        stores: int | None = None,
        partitions: int = 4,
        root: str = ROOT,
        **changes: Any,
    ) -> None:
        """`stores`: state stores a step, if not the spec's: each costs a fifth of a warm drain."""
        self.topic = topic or f"flights-{uuid.uuid4().hex[:8]}"
        self.ledger_folder = folder / "ledger"
        self.kafka = kafka
        self.partitions = partitions
        spec = registry.load(pipeline) if isinstance(pipeline, str) else pipeline
        changes = changes if checked else {"output_checks": ()} | changes
        # A small delivery may be late as a whole, as none of a real producer's is.
        changes = {"state_checks_off": ("nothing_accepted",)} | changes
        if stores:
            state = spec.state.model_copy(update={"shuffle_partitions": stores})
            changes = {"state": state} | changes
        self.spec: Pipeline = spec.model_copy(
            update={"topic": spec.topic.model_copy(update={"name": self.topic}), **changes}
        )
        self.settings = Settings.from_environment()._replace(kafka=kafka, root=str(folder / root))
        self._parts = iter(enumerate(split(records(events), deliveries), 1))

    @property
    def paths(self) -> Paths:
        """As they are now: a reset and a switch go to another place."""
        return Paths(self.settings.root, self.spec)

    def deliver(self, encode: Encode | None = None) -> dict[str, int]:
        """Publish the next delivery; the counts by kind. `encode` writes it as another producer."""
        number, records = next(self._parts)
        return self._publish(number, encode(records, number) if encode else records)

    def deliver_all(self) -> None:
        """Publish everything that is left."""
        for number, records in self._parts:
            self._publish(number, records)

    def skip(self, deliveries: int) -> None:
        """Those were published by another process."""
        for _ in range(deliveries):
            next(self._parts)

    def _publish(self, number: int, records: Sequence[Delivered]) -> dict[str, int]:
        counts: dict[str, int] = publish(
            self.kafka, self.topic, records, number, self.ledger_folder, self.partitions
        )
        return counts

    def send(self, *values: str | bytes, **where: Any) -> None:
        """Publish values of which the ledger has none. `where`: key, partition, timestamp."""
        producer = Producer({"bootstrap.servers": self.kafka})
        for value in values:
            producer.produce(self.topic, value, **where)
        assert producer.flush(30) == 0

    def drain(self, run_id: str = "run", say: Callable[[str], None] | None = None) -> Report:
        """A run in this process, whatever comes of it. `say` gets each line that it logs."""
        with heard(say) if say else nullcontext():
            return drain(self.spec, self.settings, run_id)

    def run(self, run_id: str = "run") -> Report:
        """A run that ends well and accounts for everything, as far as anybody can know."""
        report = self.drain(run_id)
        assert report.status == "succeeded", report.problem
        assert report.account.unaccounted in {0, None}
        return report

    def thrice(self) -> Self:
        """It, with three deliveries drained: the later ones have records that are late."""
        for number in range(3):
            self.deliver()
            self.run(f"drain-{number}")
        assert self.ops("late")
        return self

    def change(self, **changes: Any) -> None:
        """Other values of the spec, from the next run on."""
        self.spec = self.spec.model_copy(update=changes)

    @property
    def ledger(self) -> pa.Table:
        return ledger.read(self.ledger_folder)

    def ops(self, table: str, columns: str = "*") -> list[dict[str, Any]]:
        """Rows of an ops table."""
        return told(self.paths.root, table, columns)

    def late(self) -> set[oracle.Place]:
        """Where the records are that ops.late holds; each once."""
        places = [(row["partition"], row["offset"]) for row in self.ops("late")]
        assert len(places) == len(set(places)), "a late record is recorded twice"
        return set(places)

    def table(self) -> list[dict[str, Any]]:
        """The output, read without Spark."""
        return rows_of(self.paths.table)

    def wait_past_the_last_batch(self, milliseconds: int) -> None:
        """Until the clock is that far past the time of the last batch."""
        checkpoint = Checkpoint(self.paths.checkpoint)
        due = checkpoint.batch(checkpoint.committed()[-1]).clock_ms + milliseconds
        while time.time() * 1000 <= due:
            time.sleep(0.05)

    @property
    def verifier(self) -> Verifier:
        """What holds the tables against the ledger."""
        return Verifier(
            self.settings.root, self.ledger_folder, self.spec.name, self.spec.watermark_delay
        )

    def assert_exact(self) -> None:
        """The table is canonical less what was late; what was kept aside is the ledger's."""
        assert self.verifier.verdict().told == ()

    def assert_table(self) -> list[dict[str, Any]]:
        """The table is the canonical result less what was late; gives the batches, in order."""
        verifier = self.verifier
        verifier.hold_table()
        batches = verifier.batches()
        assert verifier.told == ()
        assert sum(row["unaccounted"] or 0 for row in batches) == 0
        return batches
