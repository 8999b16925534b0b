"""The cursor that `sluice doctor` makes: never past what the ops tables say."""

import pytest

from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import CheckpointBroken
from spark_jobs.ops import accounts, ops_tables
from tests.harness.refused import fails, has
from tests.harness.roots import ROOT
from tests.unit.checkpoints import plan_batch
from tests.unit.drains import SPEC, Drains


@pytest.fixture
def root(tmp_path) -> Drains:
    """Batches 0 to 9 have passed."""
    made = Drains(tmp_path / ROOT)
    made.began((0, 4), (5, 9))
    return made


def mended(root: Drains, damage: str = "") -> str:
    """What doctor says, done; after the cursor was damaged."""
    if damage == "torn":
        root.paths.cursor.write_text("{")
    elif damage == "no text":
        root.paths.cursor.write_bytes(b'{"\xff')
    elif damage == "missing":
        root.paths.cursor.unlink()
    lines, execute = doctor(SPEC, root.settings)
    assert execute is not None, lines
    execute()
    assert doctor(SPEC, root.settings).execute is None, "nothing is left to fix"
    return "\n".join(lines)


def go_back(root: Drains, batch: int):
    rewind(SPEC, root.settings, batch).execute()


def judged(root: Drains) -> tuple[int, int]:
    return root.cursor.judged, root.cursor.audited


@pytest.mark.parametrize("damage", ["torn", "no text", "missing"])
def test_it_is_what_it_was(root, damage):
    before = root.cursor
    assert "from ops.batches and ops.runs" in mended(root, damage)
    assert judged(root) == (9, 9)
    assert root.cursor.judged_table_version == before.judged_table_version


def test_a_red_verdict_stays_red(root):
    root.drain(10, 11, red=True, unaccounted=1)
    version = root.cursor.judged_table_version
    mended(root, "torn")
    assert judged(root) == (9, 11)
    assert root.cursor.judged_table_version == version


def test_a_red_verdict_stays_red_after_a_rewind(root):
    """The report of the first generation says that batch 9 has passed, which is taken back."""
    go_back(root, 5)
    root.drain(6, 6, red=True, unaccounted=1)
    before = root.cursor
    mended(root, "torn")
    assert (before.judged, before.audited) == judged(root) == (4, 6), "none was about 5 alone"
    assert root.cursor.judged_table_version == before.judged_table_version


def test_after_a_rewind_nothing_has_passed_that_was_taken_back(root):
    go_back(root, 5)
    before = root.cursor
    mended(root, "torn")
    assert judged(root) == (before.judged, before.audited) == (4, 5)
    assert root.cursor.judged_table_version == before.judged_table_version == 5


def test_after_a_rewind_to_the_end_of_a_run_its_verdict_stands(root):
    go_back(root, 4)
    mended(root, "torn")
    assert judged(root) == (4, 4)


def test_after_two_rewinds_the_verdict_is_of_the_generation_whose_batches_are_left(root):
    go_back(root, 5)
    root.drain(6, 8)
    go_back(root, 3)
    root.drain(4, 6, red=True)
    mended(root, "torn")
    assert judged(root) == (-1, 6), "no verdict was about batches 0 to 3 alone"


def test_what_a_person_accepted_is_checked_again(root):
    root.drain(10, 11, red=True)
    root.moved(judged=11, judged_table_version=root.table.version())
    mended(root, "torn")
    assert judged(root) == (9, 11)


def without(root: Drains, *batches: int):
    """Remove their rows of ops.batches."""
    for batch in batches:
        ops_tables.remove(root.paths.root, "batches", f"batch_id = {batch}")


@pytest.mark.parametrize("batches", [(10,), (11,), (12,), (10, 11, 12)])
def test_a_batch_without_its_row_has_no_account_and_doctor_lets_it_be_made_again(root, batches):
    root.drain(10, 12, red=True, unaccounted=1)
    without(root, *batches)
    known = read_identity(root.paths)
    assert known is not None
    with fails(CheckpointBroken, "account_absent", pipeline=SPEC.name):
        accounts.since_judged(root.paths, known, root.cursor, ("batch_id",))
    assert f"back at batch {batches[0] - 1}" in mended(root)
    assert judged(root) == (9, batches[0] - 1)
    assert [batch for batch, _ in root.accounted()] == list(range(batches[0]))
    kept = accounts.since_judged(root.paths, known, root.cursor, ("batch_id",))
    assert [row["batch_id"] for row in kept] == list(range(9, batches[0]))


def test_a_batch_with_two_rows_is_not_counted_twice(root):
    root.drain(10, 11, red=True)
    root.account(10, None)
    known = read_identity(root.paths)
    assert known is not None
    with fails(CheckpointBroken, "account_absent", found="more than one row", lacking=10):
        accounts.since_judged(root.paths, known, root.cursor, ("batch_id",))
    mended(root)
    assert judged(root) == (9, 9)


def test_rows_that_nobody_judges_any_more_may_be_gone(root):
    """As those that `sluice maintain` removes."""
    without(root, 0, 1, 2, 7)
    assert doctor(SPEC, root.settings).execute is None
    mended(root, "torn")
    assert judged(root) == (9, 9)


def test_a_commit_that_is_missing_amid_others_was_one(root):
    (root.folder / "commits" / "7").unlink()
    assert Checkpoint(root.folder).committed_after(5) == [6, 7, 8, 9]
    assert Checkpoint(root.folder).committed_after(9) == []


@pytest.mark.parametrize(("gone", "lacks", "torn"), [(5, 6, False), (7, 7, False), (7, 7, True)])
def test_without_its_offsets_a_batch_cannot_have_an_account_and_doctor_goes_back(
    root, gone, lacks, torn
):
    """A killed run had committed 6 to 9, and accounted for none."""
    without(root, 6, 7, 8, 9)
    root.moved(audited=5, judged=5, judged_table_version=6)
    entry = root.folder / "offsets" / str(gone)
    if torn:
        entry.write_text("")
    else:
        entry.unlink()
        what = has(f"batch {lacks} has no account yet, and")
        with fails(CheckpointBroken, "file_damaged", what=what, pipeline=SPEC.name):
            Checkpoint(root.folder).committed_after(5)
    assert f"go back to the end of batch {gone - 1}" in mended(root)
    assert root.rows == list(range(gone))
    assert judged(root) == ((4, 4) if gone == 5 else (5, 5))


def test_a_torn_entry_before_a_batch_that_was_begun_is_gone_back_behind(root):
    plan_batch(root.folder, 10, {0: 11}, topic="sales")
    (root.folder / "offsets" / "9").write_text("")
    assert "go back to the end of batch 8" in mended(root)
