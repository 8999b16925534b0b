"""Roots that real drains have made: a pipeline for each kind of step, several topics, an archive, a
staged repair and a rebuild, all of one generated topic.

The broker's data is kept beside the root: another broker would give the topics other ids.
"""

import shutil
import tarfile
from pathlib import Path
from typing import Any

from spark_jobs.messages.report import Report
from spark_jobs.registry import find as registry
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.runs.drain import drain
from spark_jobs.spec import Aggregate, Archive, History, Lookup, Pipeline, State
from spark_jobs.topics.flights import FLIGHTS
from tests.e2e.changed.miles_flown.spec import SPEC as MILES
from tests.harness.roots import ROOT
from tests.harness.scene import Scene
from tests.spark import operators

EVENTS, DELIVERIES, PARTITIONS = 8_000, 4, 2
DRAINED = 3
"""Deliveries, by the older commit."""
TOPIC, OTHER = "frozen-flights", "frozen-others"
HOME = "kafka"
"""The broker's home, beside the root."""
LEDGERS = ("ledger", "other/ledger")
SHIPPED = ("flight_events", "departure_delays", "aircraft_rotations", "aircraft_now")
FORMS = ("update_window", "rush_hours", "complete_windows", "whole_rows", "for_ever")
"""Of tests/spark/operators.py."""
ONE = State(shuffle_partitions=1)
FIRST_OF_TWO = FLIGHTS.model_copy(update={"name": TOPIC})
BOTH = Pipeline(
    name="both_topics",
    about="Flights of two topics, by carrier.",
    topics=(FIRST_OF_TWO, FLIGHTS.model_copy(update={"name": OTHER})),
    watermark_delay=None,
    steps=(Aggregate(keys=("topic", "carrier"), counts="flights", measures={"flights": "count(*)"}),),
    output_mode="complete",
    state=State(shuffle_partitions=1, budget_rows=1_000),
    output_checks=(),
    state_checks_off=("nothing_accepted",),
)  # fmt: skip
VERSIONS = Pipeline(
    name="aircraft_versions",
    about="Each aircraft's events, by their times.",
    topic=FLIGHTS,
    steps=(
        History(
            keys=("tail_number",),
            order_by=("event_time", "event_id"),
            deletes="cancelled",
            valid_from="event_time",
        ),
    ),
)
KEPT = archive_spec(FIRST_OF_TWO, Archive(keep=None))


def as_they_were(spec: Pipeline) -> Pipeline:
    """A shipped pipeline without the names that aircraft_now did not yet look up."""
    if not spec.sides:
        return spec
    steps = tuple(step for step in spec.steps if not isinstance(step, Lookup))
    return spec.model_copy(update={"steps": steps, "output_checks": ()})


class Shared(Scene):
    """A scene over a root that other pipelines have, too."""

    def ops(self, table: str, columns: str = "*") -> list[dict[str, Any]]:
        name = self.spec.name
        return [row for row in super().ops(table, columns) if row.get("pipeline", name) == name]


class World:
    """Scenes over one root. `deliver` sends the next delivery to both topics."""

    def __init__(self, kafka: str, folder: Path) -> None:
        self.root = folder / ROOT
        given: dict[str, Any] = {"events": EVENTS, "deliveries": DELIVERIES, "topic": TOPIC,
                                 "partitions": PARTITIONS, "stores": 1}  # fmt: skip
        shipped = (as_they_were(registry.load(name)) for name in SHIPPED)
        forms = (operators.named(name).spec for name in FORMS)
        specs = (*shipped, *forms, VERSIONS, MILES)
        self.scenes = {spec.name: Shared(kafka, folder, spec, **given) for spec in specs}
        self.first = self.scenes[SHIPPED[0]]
        self.other = Scene(kafka, folder / "other", SHIPPED[0], **given | {"topic": OTHER})
        self.settings = self.first.settings
        self.specs = {name: scene.spec for name, scene in self.scenes.items()}
        self.specs |= {BOTH.name: BOTH, KEPT.name: KEPT}

    def deliver(self) -> None:
        self.first.deliver()
        self.other.deliver()

    def pass_over(self) -> None:
        """The older commit has sent those deliveries: the generator goes on behind them."""
        for scene in (self.first, self.other):
            scene.skip(DRAINED)

    def drain(self, name: str, run_id: str) -> Report:
        """A run that succeeds and accounts for everything."""
        report = drain(self.specs[name], self.settings, run_id)
        assert (report.status, report.account.unaccounted) == ("succeeded", 0), report.problem
        return report


def thaw(archive: Path, folder: Path) -> None:
    """Unpack the root, the ledgers and the broker's home into an empty folder."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")


def freeze(folder: Path, into: Path) -> None:
    """Pack them. The broker must have been stopped."""
    shutil.rmtree(folder / ROOT / "reports", ignore_errors=True)
    with tarfile.open(into, "w:xz", preset=9) as packed:
        for name in (ROOT, *LEDGERS, f"{HOME}/data"):
            packed.add(folder / name, arcname=name)
