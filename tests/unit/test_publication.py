"""What publish tells consumers, from what lies in a root: real ops tables, a cursor, and the fact that was written last."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from spark_jobs.checkpoint.cursor import Cursor
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.published import Published, read_published
from spark_jobs.contract.errors import CheckpointBroken
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.report import Account
from spark_jobs.ops import ops_tables
from spark_jobs.runs.publication import due, publication
from tests.unit.specs import pipeline

SPEC = pipeline()
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Root:
    """A root with drained batches, of ten records each."""

    def __init__(self, folder: Path) -> None:
        self.paths = Paths(str(folder), SPEC)
        self.paths.ensure_writable()
        identity = Identity(generation="new", rewound=("old",), topic_id="t", fingerprint={})
        identity.write(self.paths.identity)

    def has(self, generation: str, batch: int) -> None:
        row: dict[str, Any] = {
            "pipeline": SPEC.name,
            "generation": generation,
            "batch_id": batch,
            "run_id": f"run-{batch}",
            "watermark": NOON,
            "offsets_end": json.dumps({"0": 10 * (batch + 1)}),
        }
        account = Account(covered=10, read=10, accepted=10, rows_out=10).model_dump()
        ops_tables.append(self.paths.root, "batches", [row | account])

    def passed(self, batch: int, version: int) -> None:
        Cursor(audited=batch, judged=batch, judged_table_version=version).write(self.paths.cursor)

    def publish(
        self, announced: int | None = None, generation: str = "new"
    ) -> dict[str, Any] | None:
        newest = None if announced is None else (generation, announced)
        found = publication(self.paths, SPEC, newest)
        if found is None:
            return None
        found.fact.write(self.paths.published)
        return found.event.model_dump(mode="json")


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path / "root")


def test_a_table_that_was_made_and_has_no_batch_that_passed_is_not_published(root: Root) -> None:
    Cursor(judged_table_version=0).write(root.paths.cursor)
    assert due(root.paths) is None


def test_an_event_covers_everything_since_the_version_that_was_published_before(root: Root) -> None:
    root.has("old", 0)
    root.passed(0, 1)
    first = root.publish()
    assert first is not None
    assert (first["table_version_before"], first["table_version"]) == (None, 1)
    assert first["account"]["read"] == 10
    for batch in (1, 2):  # two runs, of which the first was killed after its checks
        root.has("new", batch)
    root.passed(2, 5)
    second = root.publish(announced=1)
    assert second is not None
    assert (second["table_version_before"], second["table_version"]) == (1, 5)
    assert (second["account"]["read"], second["offsets_end"]) == (20, {"0": 30})
    assert (second["run_id"], second["generation"]) == ("run-2", "new")


def test_a_batch_that_an_older_sluice_accounted_for_is_published_without_the_counts_it_lacks(
    root: Root,
) -> None:
    older = [field for field in ops_tables.SCHEMAS["batches"] if field.name != "unknown"]
    deltalake.DeltaTable.create(
        str(root.paths.root / "ops" / "batches"), pa.schema(older), partition_by=["pipeline"]
    )
    row = {
        "pipeline": SPEC.name,
        "generation": "new",
        "batch_id": 0,
        "run_id": "r",
        "offsets_end": "{}",
    }
    counts = Account(covered=10, read=10).model_dump(exclude={"unknown"})
    deltalake.write_deltalake(
        str(root.paths.root / "ops" / "batches"),
        pa.Table.from_pylist([row | counts], pa.schema(older)),
        mode="append",
    )
    root.passed(0, 1)
    told = root.publish()
    assert told is not None
    assert (told["account"]["read"], told["account"]["unknown"]) == (10, 0)


def test_what_was_published_is_not_published_again(root: Root) -> None:
    root.has("new", 0)
    root.passed(0, 1)
    assert root.publish() is not None
    assert root.publish(announced=1) is None
    assert root.publish(announced=None) is None, "the command line does not know of events"


def test_a_fact_without_its_event_is_published_again_with_the_same_account(root: Root) -> None:
    """The task was killed between the two."""
    for batch in (0, 1):
        root.has("new", batch)
    root.passed(0, 1)
    very_first = root.publish(announced=-1)
    assert root.publish(announced=-1) == very_first is not None
    root.passed(1, 3)
    lost = root.publish(announced=1)
    assert root.publish(announced=1) == lost
    assert root.publish(announced=3) is None


def test_after_a_rewind_the_restored_version_is_published_though_no_batch_is_new(
    root: Root,
) -> None:
    for batch in (0, 1):
        root.has("old", batch)
    root.passed(1, 4)
    root.publish()
    root.passed(0, 5)
    told = root.publish(announced=4)
    assert told is not None
    assert (told["table_version"], told["account"]["read"], told["run_id"]) == (5, 0, "run-0")


def test_an_event_of_another_generation_is_not_that_of_this_version(root: Root) -> None:
    """After a reset the table begins at version 0 again: its event was lost with the task."""
    root.has("new", 0)
    root.passed(0, 5)
    first = root.publish(announced=5, generation="old")
    assert first is not None
    assert root.publish(announced=5, generation="old") == first
    assert root.publish(announced=5) is None


def test_an_event_has_the_decisions_about_its_rows_and_no_others(root: Root) -> None:
    root.has("new", 0)
    for generation, version, reason in [
        ("new", 1, "before"),
        ("new", 4, "ZZ is new"),
        ("new", 6, "later"),
        ("old", 3, "of rows that a rewind has taken back"),
    ]:
        row = {"pipeline": SPEC.name, "run_id": "accepted by ana", "checked_at": NOON}
        row |= {"generation": generation}
        check = {"type": "expect_x", "column": "n", "outcome": "accepted", "unexpected": 3}
        found = row | check | {"table_version": version, "about": reason}
        ops_tables.append(root.paths.root, "checks", [found])
    Published(table_version=1, batch=-1).write(root.paths.published)
    root.passed(0, 4)
    told = root.publish()
    assert told is not None
    [decision] = told["decisions"]
    assert (decision["check"], decision["reason"]) == ("expect_x(n)", "ZZ is new")
    assert (decision["by"], decision["unexpected"]) == ("accepted by ana", 3)


def test_a_torn_fact_is_an_error_and_not_a_new_beginning(root: Root) -> None:
    root.paths.published.write_text("{")
    with pytest.raises(CheckpointBroken, match=r"published\.json does not parse"):
        read_published(root.paths.published)
