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
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.runs.due import due
from spark_jobs.runs.publication import publication
from tests.harness.roots import ROOT
from tests.unit.specs import pipeline
from tests.unit.test_report import report

SPEC = pipeline()
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Root:
    """A root with drained batches, of ten records each."""

    def __init__(self, folder: Path) -> None:
        self.paths = Paths(str(folder), SPEC)
        self.paths.ensure_writable()
        identity = Identity(generation="new", rewound=("old",), topic_id="t", fingerprint={})
        identity.write(self.paths.identity)

    def has(self, generation: str, batch: int, version: int | None = None) -> None:
        row: dict[str, Any] = {
            "table_version": version,
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

    def accepted(self, generation: str, version: int, since: int | None, reason: str) -> None:
        """A person's decision about a run that judged the rows after version `since`, which is the
        report's; without one, of a run that left none.
        """
        row = {"pipeline": SPEC.name, "run_id": "accepted by ana", "checked_at": NOON}
        row |= {"generation": generation, "table_version": version, "about": reason}
        check = {"type": "expect_x", "column": "n", "outcome": "accepted", "unexpected": 3}
        ops_tables.append(self.paths.root, "checks", [row | check])
        if since is not None:
            judged = report().model_copy(
                update={
                    "pipeline": SPEC.name,
                    "generation": generation,
                    "table_version_before": since,
                    "table_version": version,
                }
            )
            run = {"pipeline": SPEC.name, "table_version": version, "ended_at": NOON}
            run |= {"status": "failed", "problem": "CHECK_FAILED"}
            run |= {"report": judged.model_dump_json()}
            ops_tables.append(self.paths.root, "runs", [run])

    def publish(
        self, announced: int | None = None, generation: str = "new"
    ) -> dict[str, Any] | None:
        newest = None if announced is None else (generation, announced)
        newest = ("", -1) if announced == -1 else newest
        found = publication(self.paths, SPEC, newest)
        if found is None:
            return None
        found.fact.write(self.paths.published)
        return found.event.model_dump(mode="json")


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path / ROOT)


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
    older = [field for field in SCHEMAS["batches"] if field.name != "unknown"]
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
    first = root.publish(announced=5, generation="before the reset")
    assert first is not None
    assert root.publish(announced=5, generation="before the reset") == first
    assert root.publish(announced=5) is None


def test_an_event_has_the_decisions_about_its_rows_and_no_others(root: Root) -> None:
    root.has("new", 0)
    root.accepted("new", 1, None, "before")
    root.accepted("new", 4, None, "ZZ is new")
    root.accepted("new", 6, None, "later")
    root.accepted("old", 3, None, "of rows that a rewind has taken back")
    Published(table_version=1, batch=-1).write(root.paths.published)
    root.passed(0, 4)
    told = root.publish()
    assert told is not None
    [decision] = told["decisions"]
    assert (decision["check"], decision["reason"]) == ("expect_x(n)", "ZZ is new")
    assert (decision["by"], decision["unexpected"]) == ("accepted by ana", 3)


def test_a_decision_about_rows_that_a_rewind_has_kept_is_told_and_none_about_those_it_took_back(
    root: Root,
) -> None:
    """Batches 0 and 1 were published; 2 to 4 were accepted, then 5 by itself; and it was rewound
    to 3.
    """
    for batch, version in enumerate((1, 2, 3, 4)):
        root.has("old", batch, version)
    root.accepted("old", 5, 2, "ZZ is new")
    root.accepted("old", 6, 5, "one row of batch 5")
    fact = {"table_version": 2, "batch": 1, "before_version": 1, "before_batch": 0}
    Published(**fact, generation="old").write(root.paths.published)
    root.passed(3, 7)
    told = root.publish(announced=2, generation="old")
    assert told is not None
    assert [decision["reason"] for decision in told["decisions"]] == ["ZZ is new"]


def test_an_event_that_was_lost_and_overtaken_is_in_the_next_also_where_several_were(
    root: Root,
) -> None:
    """Airflow gave the task up each time, and the next verdict is a newer one."""
    for batch in range(5):
        root.has("new", batch)
    root.passed(0, 1)
    assert root.publish(announced=-1) is not None
    for batch, version in ((1, 3), (2, 5)):  # both lost
        root.passed(batch, version)
        assert root.publish(announced=1) is not None
    root.passed(3, 7)
    told = root.publish(announced=1)
    assert told is not None
    assert (told["table_version_before"], told["table_version"]) == (1, 7)
    assert told["account"]["read"] == 30
    root.passed(4, 9)
    after = root.publish(announced=7)
    assert after is not None
    assert (after["table_version_before"], after["account"]["read"]) == (7, 10)


def test_where_the_very_first_events_were_lost_the_next_begins_at_the_beginning(
    root: Root,
) -> None:
    for batch in range(2):
        root.has("new", batch)
        root.passed(batch, batch + 1)
        told = root.publish(announced=-1)
    assert told is not None
    assert (told["table_version_before"], told["account"]["read"]) == (None, 20)


def test_where_airflow_has_lost_its_events_the_last_is_told_again_and_alike(root: Root) -> None:
    """Whether it was told nobody knows; who had it knows it by generation and version."""
    for batch in range(3):
        root.has("new", batch)
    root.passed(0, 1)
    root.publish(announced=-1)
    root.passed(1, 3)
    last = root.publish(announced=1)
    root.passed(2, 5)
    assert root.publish(announced=-1) == last is not None
    told = root.publish(announced=3)
    assert told is not None
    assert (told["table_version_before"], told["account"]["read"]) == (3, 10)


def test_a_version_that_was_told_is_not_told_again_after_a_rewind_that_leaves_the_verdict(
    root: Root,
) -> None:
    """The rewind took back batches that no check had passed: the published version is as it was."""
    root.has("old", 0)
    root.passed(0, 4)
    fact = {"table_version": 4, "batch": 0}
    Published(**fact, generation="old").write(root.paths.published)
    assert root.publish(announced=4, generation="old") is None


def test_a_fact_that_was_written_beside_a_reset_is_not_the_new_checkpoints(root: Root) -> None:
    """Publish read it, reset moved the folder away, and publish wrote it into the new one."""
    Published(table_version=1, batch=7, generation="reset").write(root.paths.published)
    root.has("new", 0)
    root.passed(0, 1)
    told = root.publish(announced=1, generation="reset")
    assert told is not None
    assert (told["table_version_before"], told["account"]["read"]) == (None, 10)
    assert read_published(root.paths.published).generation == "new"


def test_where_the_fact_does_not_know_what_airflow_had_last_the_versions_of_the_batches_tell(
    root: Root,
) -> None:
    """A fact of an older Sluice begins at a version that was lost, or the fact itself is gone."""
    for batch in range(4):
        root.has("new", batch, version=batch + 1)
    root.passed(3, 4)
    for fact in (Published(table_version=3, batch=2, before_version=2, before_batch=1), None):
        if fact:
            fact.write(root.paths.published)
        else:
            root.paths.published.unlink()
        told = root.publish(announced=1)
        assert told is not None
        assert (told["table_version_before"], told["account"]["read"]) == (1, 30)


def test_a_fact_that_was_written_beside_a_rewind_hides_no_batch_that_came_after_it(
    root: Root,
) -> None:
    """Batches up to 3 were told; rewind kept 0 and 1, and publish wrote its fact after it."""
    for batch in (0, 1):
        root.has("old", batch)
    for batch in (2, 3, 4):
        root.has("new", batch)
    Published(table_version=5, batch=3, generation="old").write(root.paths.published)
    root.passed(4, 9)
    told = root.publish(announced=5, generation="old")
    assert told is not None
    assert (told["table_version_before"], told["account"]["read"]) == (5, 30)


def test_a_torn_fact_is_an_error_and_not_a_new_beginning(root: Root) -> None:
    root.paths.published.write_text("{")
    with pytest.raises(CheckpointBroken, match=r"published\.json does not parse"):
        read_published(root.paths.published)
