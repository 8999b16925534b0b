"""`sluice rewind` over real tables and a checkpoint without Spark: cut off at each of its places,
and to a batch that has no account yet.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from deltalake import DeltaTable

from spark_jobs.admin import care
from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.maintain import maintain
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint import branch
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.integrity import Integrity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.begun import refuse_under_way, under_way
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.failing import FailingRecord, FailingRecords, read_failing
from spark_jobs.errors import (
    CheckpointBroken,
    FormatNewer,
    LeaseHeld,
    MaintenanceRefused,
    StateUnreadable,
)
from spark_jobs.journal.runner import leased, settle
from spark_jobs.ops import ops_tables
from spark_jobs.runs.preflight import refuse_replaced, refuse_restored
from spark_jobs.storage import failpoint
from spark_jobs.storage.folders import remove_folder
from spark_jobs.storage.root.live_place import STAMP
from spark_jobs.table.delta.door import fence
from spark_jobs.table.delta.log_entries import GENERATION
from spark_jobs.table.delta.table import Delta
from tests.harness.listener import Listener
from tests.harness.refused import fails
from tests.harness.roots import ROOT
from tests.harness.turns import held_by
from tests.unit.drains import SPEC, Drains

pytestmark = held_by("simulation/test_simulation.py", "spark/test_reset.py")

PLACES = 9
"""After the note is written, and after each of the steps."""


class Killed(Exception):
    """What a kill is to a test."""


@pytest.fixture
def root(tmp_path) -> Drains:
    """Batches 0 to 4 have passed."""
    made = Drains(tmp_path / ROOT)
    made.drain(0, 4)
    records = [FailingRecord(batch=batch, partition=0, offset=9, reason="") for batch in (2, 3)]
    FailingRecords(records=tuple(records)).write(made.paths.failing)
    return made


def with_feature(root: Drains) -> None:
    """As a person's ALTER TABLE leaves it."""
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
    features = {"readerFeatures": ["typeWidening"], "writerFeatures": ["typeWidening"]}
    entry = root.paths.table / "_delta_log" / f"{root.table.version() + 1:020}.json"
    entry.write_text(json.dumps({"protocol": protocol | features}))


def go_back(root: Drains, batch: int = 2) -> None:
    rewind(SPEC, root.settings, batch).execute()


def passed_places(active: pytest.MonkeyPatch, kill_at: int = -1) -> Iterator[int]:
    """Counts the places that are passed, and kills at one."""
    places = count()

    def at(name: str) -> None:
        assert name in failpoint.CHANGE_POINTS
        if next(places) == kill_at:
            raise Killed

    active.setattr(failpoint, "at", at)
    return places


def killed(root: Drains, place: int, batch: int = 2) -> None:
    with pytest.MonkeyPatch.context() as active:
        passed_places(active, place)
        with pytest.raises(Killed):
            go_back(root, batch)


def end_state(root: Drains, batch: int = 2) -> None:
    """What a rewind to the batch leaves, whether or not it was cut off."""
    identity = read_identity(root.paths)
    assert identity.rewound == ("g1",)
    assert identity.generation != "g1"
    assert root.table.metadata().configuration[GENERATION] == identity.generation
    assert root.rows == list(range(batch + 1))
    assert root.table.version() == 7, "five batches, one RESTORE, one change of properties"
    cursor = root.cursor
    assert (cursor.audited, cursor.judged) == (batch, -1), "no verdict was about these rows alone"
    assert cursor.judged_table_version == 0
    assert root.accounted() == [(each, "g1") for each in range(batch + 1)]
    live, left = root.paths.checkpoint, root.paths.version / "spark"
    logs = {path.name for log in ("commits", "offsets") for path in (live / log).iterdir()}
    assert logs == {name for each in range(batch + 1) for name in (str(each), f".{each}.crc")}
    assert (live / "state" / "0" / "0" / f"{batch + 1}.snapshot").exists()
    assert not (live / "state" / "0" / "0" / f"{batch + 2}.snapshot").exists()
    assert Integrity(Checkpoint(live)).damage == {}
    assert [record.batch for record in read_failing(root.paths.failing).records] == [2]
    assert live != left
    assert {path.name for path in (left / "commits").glob("[0-9]*")} == set("01234")
    assert under_way(root.paths) is None
    refuse_replaced(Delta(root.paths.table), SPEC.name, identity.table_id)
    refuse_restored(root.paths, cursor.judged_table_version)


def test_one_that_is_not_cut_off_passes_each_place_once(root, monkeypatch):
    places = passed_places(monkeypatch)
    go_back(root)
    assert next(places) == PLACES
    end_state(root)


@pytest.mark.parametrize("place", range(PLACES))
def test_one_that_was_cut_off_is_completed_by_whoever_takes_the_lease_next(root, place):
    killed(root, place)
    with fails(CheckpointBroken, "change_half_done", change="a rewind to the end of batch 2"):
        refuse_under_way(root.paths)
    with leased(root.paths, "whoever comes next"):
        end_state(root)


@pytest.mark.parametrize("place", range(PLACES))
def test_doctor_knows_it_and_goes_on(root, place):
    killed(root, place)
    lines, execute = doctor(SPEC, root.settings)
    assert "complete a rewind to the end of batch 2" in lines[0]
    execute()
    end_state(root)
    assert doctor(SPEC, root.settings).execute is None, "nothing is left to fix"


def completed(root: Drains) -> None:
    settle(root.paths, "whoever comes next")


def test_one_that_was_cut_off_again_and_again_ends_as_another(root):
    killed(root, 0)
    for place in (0, 1, 0, 2, 3):
        with pytest.MonkeyPatch.context() as active:
            passed_places(active, place)
            with pytest.raises(Killed):
                completed(root)
    completed(root)
    end_state(root)


def test_one_that_was_cut_off_amid_its_copy_ends_as_another(root):
    killed(root, 0)
    note = under_way(root.paths)
    begun = root.paths.version / note.facts["spark"]
    (begun / "commits").mkdir(parents=True)
    (begun / "commits" / "2").write_text("half")
    completed(root)
    end_state(root)


def test_what_somebody_did_to_the_table_before_its_restore_is_taken_back_too(root):
    killed(root, 0)
    root.table.delete("n = 1")
    completed(root)
    assert root.rows == [0, 1, 2]


@pytest.mark.parametrize("dies", [False, True])
def test_one_whose_version_a_person_vacuumed_before_its_restore_is_dropped(root, monkeypatch, dies):
    table = root.table
    table.optimize.compact()  # VACUUM removes files that the newest version does not have
    before = table.version()

    def vacuum(name: str):
        if name == "change.begun":
            table.vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
            if dies:
                raise Killed

    with monkeypatch.context() as active:
        active.setattr(failpoint, "at", vacuum)
        with pytest.raises(Killed if dies else StateUnreadable):
            go_back(root)
    with leased(root.paths, "the next run"):
        assert under_way(root.paths) is None
    assert root.table.version() == before + 2, "VACUUM writes two entries, and nobody else any"
    assert root.cursor.audited == 4


def test_a_second_one_completes_the_first_and_then_goes_back_further(root):
    killed(root, 5)
    assert "complete a rewind to the end of batch 2" in rewind(SPEC, root.settings, 1).lines[0]
    go_back(root, 1)
    assert root.rows == [0, 1]
    assert (root.cursor.audited, root.accounted()) == (1, [(0, "g1"), (1, "g1")])
    assert root.identity.rewound[0] == "g1"


def test_one_that_another_has_ended_meanwhile_does_nothing(root):
    late = rewind(SPEC, root.settings, 2).execute
    assert late is not None
    go_back(root)
    with fails(LeaseHeld, "overtaken", again=f"sluice rewind {SPEC.name} --to-batch 2"):
        late()
    end_state(root)


def test_what_it_has_left_goes_after_days_of_grace(root, monkeypatch):
    def left() -> list[str]:
        return sorted(path.name for path in root.paths.version.glob("spark*"))

    def maintained():
        if execute := maintain(SPEC, root.settings).execute:
            execute()

    go_back(root)
    maintained()
    assert left() == ["spark", root.paths.checkpoint.name]
    monkeypatch.setattr(care, "GRACE", timedelta(0))
    maintained()
    assert left() == [root.paths.checkpoint.name]
    go_back(root, 1)
    assert root.rows == [0, 1]


def test_an_identity_of_before_a_rewind_lets_nobody_remove_the_folder_behind_it(root, monkeypatch):
    """A person has put a copy of it back."""
    before = root.paths.identity.read_text()
    go_back(root)
    live = root.paths.checkpoint
    root.paths.identity.write_text(before)
    monkeypatch.setattr(care, "GRACE", timedelta(0))
    if execute := maintain(SPEC, root.settings).execute:
        execute()
    assert live.exists()


def test_the_grace_of_a_folder_begins_when_another_is_live_not_at_its_rewind(root, monkeypatch):
    """It was planned so long ago, killed, and has just been completed."""
    now = datetime.now(UTC)
    with monkeypatch.context() as active:
        active.setattr(branch, "STAMP", f"{now - timedelta(days=8):{STAMP}}")
        go_back(root)
    left = [root.paths.version / "spark"]
    assert care.dead_checkpoints(root.paths, now + timedelta(days=6)) == []
    assert care.dead_checkpoints(root.paths, now + timedelta(days=8)) == left


def test_a_feature_that_delta_rs_does_not_write_is_told_by_who_completes_a_rewind(root):
    killed(root, 2)
    with_feature(root)
    with fails(MaintenanceRefused, "feature_unwritable", first="typeWidening"):
        completed(root)


def test_a_rewind_that_cannot_begin_any_more_keeps_nobody_out(root):
    """It was killed before its first step, and then a person gave the table such a feature."""
    killed(root, 0)
    with_feature(root)
    before = root.table.version()
    with leased(root.paths, "the next run"):
        assert under_way(root.paths) is None
    assert root.table.version() == before
    with fails(MaintenanceRefused, "feature_unwritable"):
        go_back(root)


def test_a_table_that_delta_rs_does_not_write_is_fenced_by_that(root):
    with_feature(root)
    before = root.table.version()
    with lease(root.paths.lease, "somebody") as held:
        fence(root.paths.table, held)
    assert root.table.version() == before


def test_what_was_given_up_before_the_live_folder_was_named_goes_too(root, monkeypatch):
    """A repartition between the look of a rewind and its end: a late writer has left some of it."""
    shown = rewind(SPEC, root.settings, 2)
    left = root.paths.version / branch.name_one()
    left.mkdir()
    shown.execute()
    (root.paths.version / branch.name_one()).mkdir()  # an identity of before, or not yet named
    assert root.paths.checkpoint.name < left.name
    monkeypatch.setattr(care, "GRACE", timedelta(0))
    dead = {root.paths.version / "spark", left}
    assert {*care.dead_checkpoints(root.paths, datetime.now(UTC))} == dead


def test_it_shows_the_folder_that_is_live_then(root):
    shown = rewind(SPEC, root.settings, 2)
    shown.execute()
    assert any(str(root.paths.checkpoint) in line for line in shown.lines)


def test_a_cursor_that_is_lost_behind_a_rewind_is_missed(root):
    go_back(root)
    remove_folder(root.paths.version / "spark")
    root.paths.cursor.unlink()
    with fails(CheckpointBroken, "file_damaged"):
        read_cursor(root.paths.cursor)


def test_no_older_sluice_goes_on_in_the_folder_that_it_has_left(root):
    assert json.loads(root.paths.identity.read_text())["format_version"] == 1
    go_back(root)
    assert json.loads(root.paths.identity.read_text())["format_version"] == 2


@pytest.mark.parametrize("content", ["{", "[" * 100_000, None], ids=["cut", "deep", "a folder"])
def test_a_note_that_does_not_parse_is_refused(root, content):
    killed(root, 5)
    if content is None:
        root.paths.journal.unlink()
        root.paths.journal.mkdir()
    else:
        root.paths.journal.write_text(content)
    with fails(CheckpointBroken, "journal_unreadable"):
        completed(root)


def test_a_rewind_to_the_newest_batch_restores_nothing_and_keeps_its_verdict(root):
    go_back(root, 4)
    assert root.rows == [0, 1, 2, 3, 4]
    assert (root.cursor.audited, root.cursor.judged) == (4, 4)
    assert root.cursor.judged_table_version == 5


def test_bad_rows_that_were_mended_are_not_published_when_a_rewind_brings_them_back(root):
    """Batch 5 fails, a person deletes its row, a later run passes: its verdict is not about it."""
    root.drain(5, 5, red=True)
    root.table.delete("n = 5")
    root.drain(6, 6)
    listener = Listener()
    listener.publish(root.paths, SPEC)
    go_back(root, 5)
    assert 5 in root.rows
    assert root.cursor.judged == 4, "the next drain judges it"
    assert listener.publish(root.paths, SPEC) is None
    shown = DeltaTable(str(root.paths.published_table)).to_pyarrow_table().column("n").to_pylist()
    assert 5 not in shown


@pytest.mark.parametrize(
    "other", [{"change": "merger"}, {"facts": {"batch": 2}}], ids=["a change", "facts"]
)
def test_a_note_of_another_sluice_is_refused_in_words(root, other):
    killed(root, 5)
    note = under_way(root.paths)
    note.model_copy(update=other).write(root.paths.journal)
    with fails(FormatNewer, "change_unknown"):
        completed(root)


def test_a_batch_that_is_not_there_changes_nothing(root):
    with fails(StateUnreadable, "state_incomplete"):
        rewind(SPEC, root.settings, 7)
    assert under_way(root.paths) is None


def test_a_batch_without_an_account_keeps_its_rejected_records_and_no_row_of_a_killed_run(root):
    """The run was killed after it had stored batch 5's records and row, and before the cursor."""
    version = root.commit(5)
    root.account(5, version)
    root.commit(6)
    for batch in (5, 6):
        record = {"pipeline": SPEC.name, "generation": "g1", "batch_id": batch, "partition": 0}
        ops_tables.append(root.paths.root, "late", [record | {"offset": batch}])
    for batch in (4, 5, 6):
        noted = {"pipeline": SPEC.name, "generation": "g1", "batch_id": batch, "partition": 0}
        ops_tables.append(root.paths.root, "slices", [noted])
    go_back(root, 5)
    assert root.cursor.audited == 4
    assert root.accounted() == [(each, "g1") for each in range(5)], "the next run accounts for 5"
    assert root.ops("late", "batch_id") == [(5,)]
    assert root.ops("slices", "batch_id") == [(4,)], "the next run notes those of 5"
    assert root.rows == [0, 1, 2, 3, 4, 5]
