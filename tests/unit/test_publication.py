"""What publish tells consumers, from what lies in a root: real ops tables, a cursor, and the fact that was written last."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from spark_jobs.checkpoint.notes import published
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.notes.published import Published
from spark_jobs.errors import CheckpointBroken
from spark_jobs.messages.offset_account import Account
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.runs.publish import publication
from spark_jobs.runs.publish.due import Announced
from spark_jobs.spec import Archive
from spark_jobs.storage.root.paths import Paths
from tests.harness import roots
from tests.harness.refused import fails, has
from tests.harness.roots import ROOT
from tests.unit.specs import pipeline
from tests.unit.test_report import report

SPEC = archive_spec(pipeline().topic, Archive())
"""An archive has no published table: what is told is made without a table too."""
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Root(roots.Root):
    """A root with drained batches, of ten records each."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, SPEC)
        self.paths.ensure_writable()
        self.identified("new", rewound=("old",))
        self.airflow = Announced()

    def has(self, generation: str, batch: int, version: int | None = None) -> None:
        row: dict[str, Any] = {"pipeline": SPEC.name, "generation": generation, "batch_id": batch}
        row |= {"run_id": f"run-{batch}", "watermark": NOON, "table_version": version}
        row |= {"offsets_end": json.dumps({"0": 10 * (batch + 1)})}
        account = Account(covered=10, read=10, accepted=10, rows_out=10).row()
        self.put("batches", row | account)

    def passed(self, batch: int, version: int) -> None:
        Cursor(audited=batch, judged=batch, judged_table_version=version).write(self.paths.cursor)

    def accepted(self, generation: str, version: int, since: int | None, reason: str) -> None:
        """A person's decision about a run that judged rows after `since`, if it left any."""
        row = {"pipeline": SPEC.name, "run_id": "accepted by ana", "checked_at": NOON}
        row |= {"generation": generation, "table_version": version, "about": reason}
        check = {"type": "expect_x", "column": "n", "outcome": "accepted", "unexpected": 3}
        self.put("checks", row | check)
        if since is not None:
            of = {"pipeline": SPEC.name, "generation": generation, "table_version": version}
            judged = report().model_copy(update=of | {"table_version_before": since})
            run = {"pipeline": SPEC.name, "table_version": version, "ended_at": datetime.now(UTC)}
            run |= {"status": "failed", "problem": "CHECK_FAILED"}
            run |= {"report": judged.model_dump_json()}
            self.put("runs", run)

    def told(self, *, lost: bool = False) -> list[dict[str, Any]]:
        """What the task tells. Airflow has it then, unless it is `lost` with the task."""
        events = publication.publish(self.paths, SPEC, self.airflow)
        for event in events if not lost else ():
            self.airflow = Announced(event.number, event.generation, event.table_version)
        return [event.model_dump(mode="json") for event in events]

    def publish(self, *, lost: bool = False) -> dict[str, Any] | None:
        """The newest event of these."""
        return next(reversed(self.told(lost=lost)), None)

    def drained(self, generation: str, batch: int, version: int) -> None:
        """A batch that passed its checks."""
        self.has(generation, batch)
        self.passed(batch, version)

    def number_since_read(self) -> tuple[Any, ...]:
        """Of the next event: its number, the version behind which it begins, its records."""
        told = self.publish()
        return told["number"], told["table_version_before"], told["account"]["read"]

    def older(self, **fact: Any) -> None:
        """What an older Sluice has left, whose event Airflow had."""
        Published(**fact).write(self.paths.version / "published.json")
        self.airflow = Announced(0, fact["generation"], fact["table_version"])


@pytest.fixture
def root(tmp_path) -> Root:
    return Root(tmp_path / ROOT)


def test_a_table_that_was_made_and_has_no_batch_that_passed_is_not_published(root):
    Cursor(judged_table_version=0).write(root.paths.cursor)
    assert root.publish() is None
    assert not root.paths.published_table.exists()


def test_an_event_covers_everything_since_the_version_that_was_published_before(root):
    root.drained("old", 0, 1)
    first = root.publish()
    assert (first["table_version_before"], first["table_version"]) == (None, 1)
    assert first["account"]["read"] == 10
    for batch in (1, 2):  # two runs, of which the first was killed after its checks
        root.has("new", batch)
    root.passed(2, 5)
    second = root.publish()
    assert (second["table_version_before"], second["table_version"]) == (1, 5)
    assert (second["account"]["read"], second["offsets_end"]) == (20, {"0": 30})
    assert (second["run_id"], second["generation"]) == ("run-2", "new")


def test_a_batch_that_an_older_sluice_accounted_for_is_published_without_the_counts_it_lacks(root):
    older = [field for field in SCHEMAS["batches"] if field.name != "unknown"]
    deltalake.DeltaTable.create(
        str(root.paths.root / "ops" / "batches"), pa.schema(older), partition_by=["pipeline"]
    )
    row = {"pipeline": SPEC.name, "generation": "new", "batch_id": 0, "run_id": "r"}
    row |= {"offsets_end": "{}"}
    counts = Account(covered=10, read=10).model_dump(exclude={"unknown"})
    deltalake.write_deltalake(
        str(root.paths.root / "ops" / "batches"),
        pa.Table.from_pylist([row | counts], pa.schema(older)),
        mode="append",
    )
    root.passed(0, 1)
    told = root.publish()
    assert (told["account"]["read"], told["account"]["unknown"]) == (10, 0)


def test_what_airflow_has_is_not_told_again(root):
    root.drained("new", 0, 1)
    assert root.publish() is not None
    assert root.publish() is None
    assert publication.to_publish(root.paths, SPEC) is None, "the command line knows no events"


def test_events_that_were_lost_are_told_again_alike_and_with_them_what_came_since(root):
    lost = []
    for batch, version in ((0, 1), (1, 3), (2, 5)):
        root.drained("new", batch, version)
        told = root.told(lost=True)
        assert told[:-1] == lost
        assert publication.to_publish(root.paths, SPEC, root.airflow) == version
        lost = told
    spans = [(each["table_version_before"], each["table_version"]) for each in lost]
    assert spans == [(None, 1), (1, 3), (3, 5)]
    assert [(each["number"], each["account"]["read"]) for each in lost] == [
        (n, 10) for n in (1, 2, 3)
    ]
    assert root.told() == lost
    assert root.publish() is None


def test_more_events_than_are_told_at_once_are_told_in_the_next_runs(root, monkeypatch):
    monkeypatch.setattr(published, "MOST", 2)
    root.drained("new", 0, 1)
    root.publish()
    for batch in range(1, 6):
        root.drained("new", batch, 2 * batch + 1)
        root.told(lost=True)
    told = [[each["number"] for each in root.told()] for _ in range(4)]
    assert told == [[2, 3], [4, 5], [6], []]


def test_a_listener_that_has_none_is_told_the_first_that_another_was_told(root):
    root.drained("new", 0, 1)
    root.told(lost=True)
    root.drained("new", 1, 3)
    publication.publish(root.paths, SPEC, Announced(1, "new", 1))
    assert [each["number"] for each in root.told()] == [1, 2]


def test_two_dags_that_publish_at_once_tell_one_event_or_the_next(root):
    """The pipeline's and its backfill's: each has asked Airflow before the other told."""
    root.drained("new", 0, 1)
    root.publish()
    asked = root.airflow
    root.drained("new", 1, 3)
    one = root.publish()
    root.drained("new", 2, 5)
    root.airflow = asked
    again, following = root.told()
    assert again == one
    assert (following["number"], following["table_version_before"]) == (3, 3)


def test_of_two_that_fix_one_number_the_second_tells_what_the_first_fixed(root, monkeypatch):
    root.drained("new", 0, 1)
    fix, told = Published.fix, []

    def overtaken(ours: Published, paths: Paths):
        monkeypatch.setattr(Published, "fix", fix)
        root.drained("new", 1, 3)
        told.append(root.publish())
        fix(ours, paths)

    monkeypatch.setattr(Published, "fix", overtaken)
    asked = root.airflow
    [event] = publication.publish(root.paths, SPEC, asked)
    assert [event.model_dump(mode="json")] == told
    assert event.table_version == 3


def test_what_changes_while_an_event_is_made_is_in_it_or_the_next_never_half(root, monkeypatch):
    """A rewind beside it: rows of ops.batches that it removes were counted, or not."""
    for batch in (0, 1):
        root.has("new", batch)
    root.passed(1, 3)
    make = publication.days

    def beside(*given: Any) -> Any:
        monkeypatch.setattr(publication, "days", make)
        root.passed(0, 5)
        root.identified("third", rewound=("old", "new"))
        return make(*given)

    monkeypatch.setattr(publication, "days", beside)
    told = root.publish()
    assert (told["generation"], told["table_version"], told["account"]["read"]) == ("third", 5, 10)


def test_nothing_new_is_told_while_a_change_is_under_way(root):
    root.drained("new", 0, 1)
    lost = root.publish(lost=True)
    root.passed(0, 3)
    root.paths.journal.write_text(
        '{"change": "rewind", "version": "v1", "id": "1", "by": "x", "at": "2026-03-01T12:00:00Z", '
        '"words": "a rewind", "facts": {}}'
    )
    assert root.publish() == lost, "it is fixed"
    assert root.publish() is None
    root.paths.journal.unlink()
    assert root.publish() is not None


def test_after_a_rewind_the_restored_version_is_published_though_no_batch_is_new(root):
    for batch in (0, 1):
        root.has("old", batch)
    root.passed(1, 4)
    root.publish()
    root.passed(0, 5)
    told = root.publish()
    assert (told["table_version"], told["account"]["read"], told["run_id"]) == (5, 0, "run-0")


def test_the_numbers_go_on_through_a_reset_whose_first_event_begins_at_nothing(root):
    for batch in range(3):
        root.has("new", batch)
    root.passed(2, 7)
    root.publish()
    root.identified("behind the reset")
    root.has("behind the reset", 0)
    root.passed(0, 1)
    told = root.publish()
    assert (told["number"], told["table_version_before"], told["table_version"]) == (2, None, 1)
    assert told["account"]["read"] == 10


def test_where_airflow_has_lost_its_events_they_are_told_again_and_alike(root, monkeypatch):
    told = []
    for batch, version in ((0, 1), (1, 3)):
        root.drained("new", batch, version)
        told += root.told()
    root.airflow = Announced()
    root.drained("new", 2, 5)
    again = root.told(lost=True)
    assert again[:-1] == told
    monkeypatch.setattr(published, "MOST", 2)
    assert root.told() == again[-1:], "of many the newest alone"


@pytest.mark.parametrize("copied", [True, False])
def test_where_the_root_is_a_copy_of_before_it_goes_on_from_airflows_event(root, *, copied):
    for batch, version in ((0, 1), (1, 3)):
        root.has("new", batch, version)
        root.passed(batch, version)
        root.publish()
    for file in [*root.paths.events.iterdir()][1 if copied else 0 :]:
        file.unlink()
    root.has("new", 2, 5)
    root.passed(2, 5)
    assert root.number_since_read() == (3, 3, 10)


def test_an_event_is_kept_for_as_long_as_a_listener_may_be_behind(root, monkeypatch):
    monkeypatch.setattr(published, "KEPT", 100)
    for number in range(1, 104):
        Published(number=number).fix(root.paths)
    assert sorted(int(path.stem) for path in root.paths.events.iterdir()) == [*range(4, 104)]


def test_events_that_are_gone_are_named_in_the_log(root, caplog):
    for batch in range(6):
        root.drained("new", batch, 2 * batch + 1)
        root.told(lost=batch > 2)
    for number in (4, 5):
        next(root.paths.events.glob(f"*{number}.json")).unlink()
    assert [each["number"] for each in root.told()] == [6]
    assert "the events 4 to 5 are gone" in caplog.text


def test_an_event_has_the_decisions_about_its_rows_and_no_others(root):
    root.has("new", 0)
    root.accepted("new", 1, None, "before")
    root.accepted("new", 4, None, "ZZ is new")
    root.accepted("new", 6, None, "later")
    root.accepted("old", 3, None, "of rows that a rewind has taken back")
    root.older(table_version=1, generation="new")
    root.passed(0, 4)
    told = root.publish()
    [decision] = told["decisions"]
    assert (decision["check"], decision["reason"]) == ("expect_x(n)", "ZZ is new")
    assert (decision["by"], decision["unexpected"]) == ("accepted by ana", 3)


def test_a_decision_about_rows_that_a_rewind_kept_is_told_and_none_about_others(root):
    """Batches 0 and 1 were published; 2 to 4 accepted, then 5; and it was rewound to 3."""
    for batch, version in enumerate((1, 2, 3, 4)):
        root.has("old", batch, version)
    root.accepted("old", 5, 2, "ZZ is new")
    root.accepted("old", 6, 5, "one row of batch 5")
    root.accepted("of another checkpoint", 5, 4, "its version 5")
    fact = {"table_version": 2, "batch": 1, "before_version": 1, "before_batch": 0}
    root.older(**fact, generation="old")
    root.passed(3, 7)
    told = root.publish()
    assert [decision["reason"] for decision in told["decisions"]] == ["ZZ is new"]


def older(root: Root) -> None:
    """It had one file without a number, which it wrote before Airflow had the event."""
    for batch in range(3):
        root.has("new", batch)
    fact = {"table_version": 3, "batch": 1, "before_version": 1, "before_batch": 0}
    root.older(**fact, generation="new")


def test_a_root_of_an_older_sluice_goes_on_from_the_event_that_airflow_has(root):
    older(root)
    assert root.publish() is None
    root.passed(2, 5)
    assert root.number_since_read() == (1, 3, 10)


@pytest.mark.parametrize("airflow", [Announced(0, "new", 1), Announced()])
def test_an_event_that_an_older_sluice_lost_is_in_the_first_that_has_a_number(root, airflow):
    older(root)
    root.airflow = airflow
    root.passed(2, 5)
    assert root.number_since_read() == (1, 1, 20)


def test_a_version_that_was_told_is_not_told_again_after_a_rewind_that_leaves_the_verdict(root):
    """The rewind took back batches that no check had passed: the published version is as it was."""
    root.identified("old")
    root.drained("old", 0, 4)
    root.publish()
    root.identified("new", rewound=("old",))
    assert root.publish() is None


def test_a_rewind_lets_the_next_event_begin_at_the_batch_to_which_it_went(root):
    """Batches up to 3 were told; it kept 0 and 1, whose rows in ops.batches stay."""
    root.identified("old")
    for batch in (0, 1):
        root.has("old", batch)
    root.passed(3, 5)
    root.publish()
    root.identified("new", rewound=("old",))
    for batch in (2, 3, 4):
        root.has("new", batch)
    root.passed(4, 9)
    told = root.publish()
    assert (told["table_version_before"], told["account"]["read"]) == (5, 30)


def test_a_torn_event_is_an_error_and_the_remedy_goes_on_from_what_airflow_was_told(root):
    root.has("new", 0, 1)
    root.passed(0, 1)
    root.publish()
    [torn] = root.paths.events.iterdir()
    torn.write_text("{")
    with fails(CheckpointBroken, "announcement_unreadable", path=has("000000000001.json")):
        root.publish()
    torn.unlink()
    assert root.publish() is None
    root.has("new", 1, 3)
    root.passed(1, 3)
    assert root.number_since_read() == (2, 1, 10)


def test_a_verdict_of_another_generation_is_about_other_rows(root):
    root.has("new", 0)
    said = Cursor(audited=0, judged=0, judged_table_version=1)
    said.model_copy(update={"judged_generation": "another"}).write(root.paths.cursor)
    assert root.publish() is None
    said.model_copy(update={"judged_generation": "old"}).write(root.paths.cursor)
    assert root.publish() is not None
