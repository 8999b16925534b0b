"""A drain that has not ended, as who looks on sees it: by its note, lease, checkpoint and batches."""

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner
from upath import UPath

from spark_jobs.checkpoint.lease import Begun, lease
from spark_jobs.checkpoint.object_lease import ObjectLease
from spark_jobs.checkpoint.sign import DEAD, SILENT, sign
from spark_jobs.cli import app
from spark_jobs.errors import RootRefused
from spark_jobs.messages.offset_account import Account
from spark_jobs.ops import ops_tables
from spark_jobs.ops.at_work import at_work
from spark_jobs.pages.at_work import words
from spark_jobs.runs.run_outcome import RunOutcome
from spark_jobs.runs.run_record import append_row, begun
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.storage.root.paths import Paths
from tests.harness.roots import ROOT, report
from tests.unit.checkpoints import Alone, begin, commit_batch, plan_batch
from tests.unit.specs import pipeline

REPO = Path(__file__).parents[2]
NAME = "flight_events"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
BEGAN = NOW - timedelta(minutes=5)
ENDS = {0: 1000, 1: 600}
HOSTILE = "<script>'\u202e\x1b[31m"
WORK = """
import sys, time
from spark_jobs.checkpoint.lease import lease
from spark_jobs.registry import find
from spark_jobs.storage.root.paths import Paths
from spark_jobs.runs.run_record import begun
from spark_jobs.runs.run_outcome import RunOutcome
paths = Paths(sys.argv[1], find.load(sys.argv[2]))
paths.ensure_writable()
with lease(paths.lease, "r"), begun(paths, RunOutcome("drain", sys.argv[2], "r")):
    print("works", flush=True)
    time.sleep(600)
"""


class Works:
    """A root in which a run has left a note. `upto`: what it knows of the topic."""

    def __init__(self, folder, run_id="r"):
        from spark_jobs.registry import find  # noqa: PLC0415 - its pipelines are the shipped ones

        self.paths = Paths(str(folder / ROOT), find.load(NAME))
        self.paths.ensure_writable()
        self.topic = find.load(NAME).topic.name
        self.spark = begin(Path(str(self.paths.checkpoint)), {0: 0, 1: 100}, self.topic)
        self.note = Begun(kind="drain", run_id=run_id, started_at=BEGAN, pid=7, host="worker-1")
        self.note.write(self.paths.running)

    def knows(self, ends=ENDS):
        state = {"begins": Positions({0: 0, 1: 100}), "ends": Positions(ends)}
        self.note.model_copy(update=state).write(self.paths.running)

    def plan(self, batch, end, at=NOW):
        plan_batch(self.spark, batch, end, 0, self.topic, int(at.timestamp() * 1000))

    def commit(self, batch, end, at=NOW):
        self.plan(batch, end, at)
        commit_batch(self.spark, batch)

    def account(self, batch, start, end, seconds, **more):
        covered = sum(end.values()) - sum(start.values())
        account = Account(covered=covered, read=covered, accepted=covered)
        row = {
            "pipeline": NAME, "generation": "g", "batch_id": batch, "run_id": "r",
            "seconds": seconds, "offsets_start": json.dumps(start), "offsets_end": json.dumps(end),
        }  # fmt: skip
        ops_tables.append(self.paths.root, "batches", [row | account.row() | more])

    def seen(self, now=NOW):
        found = at_work(self.paths.root, NAME, now)
        return found[0] if found else None


@pytest.fixture
def works(tmp_path):
    return Works(tmp_path)


def test_before_anything_is_known_nothing_is_made_up(works):
    with lease(works.paths.lease, "r"):
        seen = works.seen()
    assert (seen.standing, seen.phase, seen.batches, seen.run_id) == ("works", "prepares", 0, "r")
    assert (seen.offsets_left, seen.per_second, seen.seconds_left) == (None, None, None)
    told = words(seen, None)
    assert told["left"] == told["when"] == "not known"


def test_batches_rate_what_is_left_and_when_it_is_done_are_those_of_its_last_batches(works):
    works.knows()
    with lease(works.paths.lease, "r"):
        assert works.seen().phase == "starts"
        assert works.seen().offsets_left == 1000 + 500
        works.commit(0, {0: 400, 1: 200})
        works.account(0, {0: 0, 1: 100}, {0: 400, 1: 200}, 10.0)
        works.commit(1, {0: 500, 1: 300})
        works.plan(2, {0: 900, 1: 600}, NOW - timedelta(seconds=2))
        seen = works.seen()
    assert (seen.phase, seen.batch, seen.batches, seen.account.read) == ("reads", 2, 1, 500)
    assert (seen.offsets_done, seen.offsets_left) == (700, 800)
    assert (seen.per_second, seen.basis, seen.measured) == (50, "batches", 1)
    assert seen.seconds_left == 800 / 50 - 2
    assert words(seen, None)["when"].endswith("12:00:14 UTC")
    limited = pipeline(max_minutes=5)
    assert words(seen, limited)["when"].endswith("12:00:14 UTC, or at max_minutes=5")


def test_before_its_first_batch_the_last_drains_say_how_long_it_takes_and_no_longer_than_that(
    works,
):
    works.knows()
    for place in range(7):
        done = report(
            NAME, f"earlier-{place}", at=BEGAN - timedelta(hours=place), query_seconds=10.0,
            account=Account(read=100 if place < 5 else 10**6),
        )  # fmt: skip
        append_row(done, str(works.paths.root))
    works.plan(0, ENDS, NOW - timedelta(seconds=50))
    with lease(works.paths.lease, "r"):
        seen, late = works.seen(), works.seen(NOW + timedelta(hours=1))
    assert (seen.basis, seen.measured, seen.per_second) == ("runs", 5, 10)
    assert seen.seconds_left == 150 - 50
    assert late.seconds_left is None
    assert "longer" in words(late, None)["when"]


def test_the_terminal_has_a_line_of_it_above_the_runs_that_have_ended(works, monkeypatch):
    monkeypatch.setenv("SLUICE_ROOT", str(works.paths.root))
    works.knows()
    with lease(works.paths.lease, "r"):
        found = CliRunner().invoke(app, ["show", "runs", NAME])
        other = CliRunner().invoke(app, ["show", "runs", NAME, "--format", "json"])
    assert "now: r: It works. Spark starts" in " ".join(found.output.split())
    assert (found.exit_code, other.exit_code, other.output.strip()) == (0, 0, "")


def test_a_batch_that_an_earlier_run_left_is_not_taken_for_one_that_is_read_since(works):
    works.knows()
    works.commit(0, {0: 400, 1: 200}, BEGAN - timedelta(hours=2))
    works.account(0, {0: 0, 1: 100}, {0: 400, 1: 200}, 10.0)
    works.plan(1, ENDS, BEGAN - timedelta(hours=1))
    with lease(works.paths.lease, "r"):
        seen = works.seen()
    assert (seen.phase, seen.batch, seen.seconds_left) == ("starts", 1, 1000 / 50)


def test_batches_of_an_earlier_run_of_the_same_id_are_not_its_own(works):
    works.knows()
    works.account(0, {0: 0}, {0: 9}, 1.0, audited_at=BEGAN - timedelta(days=1))
    with lease(works.paths.lease, "r"):
        assert works.seen().batches == 0


def test_where_locks_are_each_machine_s_own_nobody_is_told_dead(works, monkeypatch):
    def local(folder):
        raise RootRefused("locks are this machine's own", "")

    monkeypatch.setattr("spark_jobs.checkpoint.sign.refuse_local_locks", local)
    works.paths.lease.write_text('{"run_id": "r"}')
    assert works.seen().standing == "silent"


def test_when_all_is_read_it_closes_and_nothing_is_left(works):
    works.knows()
    works.commit(0, ENDS)
    with lease(works.paths.lease, "r"):
        seen = works.seen()
    assert (seen.phase, seen.offsets_left, seen.batch) == ("closes", 0, None)


def test_while_its_last_windows_close_and_once_it_is_dead_no_time_is_told(works):
    works.knows()
    works.commit(0, ENDS)
    works.account(0, {0: 0, 1: 100}, ENDS, 10.0)
    works.plan(1, ENDS, NOW - timedelta(seconds=7))  # no data: it closes windows
    with lease(works.paths.lease, "r"):
        assert works.seen().seconds_left == 0
    works.knows({0: 2000, 1: 600})
    assert (works.seen().standing, works.seen().seconds_left) == ("died", None)


def test_a_partition_that_came_amid_the_run_is_counted_from_where_its_reading_began(works):
    works.commit(0, {0: 400})
    works.account(0, {0: 0}, {0: 400}, 10.0)
    state = {"begins": Positions({0: 0, 1: 90_000}), "ends": Positions({0: 1000, 1: 90_100})}
    works.note.model_copy(update=state).write(works.paths.running)
    works.commit(1, {0: 500, 1: 90_050})
    with lease(works.paths.lease, "r"):
        seen = works.seen()
    assert (seen.offsets_done, seen.offsets_left) == (550, 550)


def test_a_run_whose_process_was_killed_is_dead_at_once_and_ended_when_its_row_is_there(tmp_path):
    from spark_jobs.registry import find  # noqa: PLC0415 - as above

    root = tmp_path / ROOT
    command = [sys.executable, "-c", WORK, str(root), NAME]
    with subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "works\n"
        [seen] = at_work(UPath(root), NAME, datetime.now(UTC))
        assert (seen.standing, f"process {other.pid} on " in seen.process) == ("works", True)
        other.send_signal(signal.SIGKILL)
        other.wait()
    [seen] = at_work(UPath(root), NAME, datetime.now(UTC))
    assert seen.standing == "died"
    assert words(seen, None)["phase"] == ""
    paths = Paths(str(root), find.load(NAME))
    with lease(paths.lease, "another command"):
        assert at_work(UPath(root), NAME, datetime.now(UTC))[0].standing == "died"
    append_row(report(NAME, "r", "REPORT_MISSING", at=datetime.now(UTC)), str(root))
    assert at_work(UPath(root), NAME, datetime.now(UTC))[0].standing == "ended"


def test_on_an_object_store_silence_is_told_and_death_long_after_the_lease_has_run_out(tmp_path):
    held = ObjectLease(UPath(tmp_path / "lease"), "r")
    held.take()
    try:
        now = datetime.now(UTC)
        before = {path.name for path in tmp_path.iterdir()}
        found = [
            _of_object(tmp_path, now + later).life
            for later in (timedelta(), SILENT * 1.5, DEAD * 1.5, -DEAD)
        ]
        assert found == ["alive", "silent", "gone", "alive"]
        assert _of_object(tmp_path, now).run_id == "r"
        assert {path.name for path in tmp_path.iterdir()} == before, "who looks on writes nothing"
    finally:
        held.release()
    assert _of_object(tmp_path, datetime.now(UTC)).life == "gone"


def test_on_an_object_store_a_killed_run_has_ended_once_its_row_is_there(works, monkeypatch):
    monkeypatch.setattr("spark_jobs.checkpoint.sign.is_local", lambda _: False)
    held = ObjectLease(works.paths.lease, "r")
    held.take()
    try:
        now = datetime.now(UTC)
        assert [works.seen(now + each).standing for each in (0 * SILENT, 2 * SILENT)] == [
            "works", "silent",
        ]  # fmt: skip
        append_row(report(NAME, "r", "PROCESS_DIED", at=BEGAN), str(works.paths.root))
        assert works.seen(now).standing == works.seen(now + 2 * SILENT).standing == "ended"
    finally:
        held.release()


def _of_object(folder, now):
    from spark_jobs.checkpoint.sign import _of_object  # noqa: PLC0415 - a folder stands for a store

    return _of_object(UPath(folder / "lease"), now)


def test_a_lease_that_nobody_ever_took_gives_no_sign(tmp_path):
    assert sign(UPath(tmp_path / "lease"), NOW).life == "gone"


def test_the_note_says_up_to_where_the_run_reads_and_goes_with_it(tmp_path):
    from spark_jobs.registry import find  # noqa: PLC0415 - as above

    paths = Paths(str(tmp_path / ROOT), find.load(NAME))
    paths.ensure_writable()
    topic = SourceState("id", Positions({0: 3}), Positions({0: 10}), starting=Positions({0: 5}))
    with begun(paths, RunOutcome("drain", NAME, "r")) as note:
        note.reads(topic, Alone())
        kept = Begun.read(paths.running)
        assert (kept.begins, kept.ends) == (Positions({0: 5}), Positions({0: 10}))
    assert not paths.running.exists()


def test_a_note_that_cannot_be_written_or_is_another_s_stops_no_run(tmp_path, monkeypatch):
    from spark_jobs.registry import find  # noqa: PLC0415 - as above

    paths = Paths(str(tmp_path / ROOT), find.load(NAME))
    paths.ensure_writable()
    topic = SourceState("id", Positions({0: 3}), Positions({0: 10}))

    class Lost:
        fence = 0

        def confirm(self):
            raise OSError(30, "Read-only file system")

    with begun(paths, RunOutcome("drain", NAME, "r")) as note:
        note.reads(topic, Lost())
        assert Begun.read(paths.running).ends is None


def test_hostile_or_broken_notes_and_files_that_go_meanwhile_are_no_error(tmp_path):
    works = Works(tmp_path, HOSTILE)
    with lease(works.paths.lease, HOSTILE):
        assert works.seen().run_id == HOSTILE
    works.knows()
    works.commit(0, {0: 5})
    (works.spark / "offsets" / "0").write_text("v1\nnothing")
    seen = works.seen()
    assert (seen.offsets_left, seen.offsets_done) == (None, 0)
    works.paths.running.write_text("{")
    assert works.seen() is None
    works.paths.running.unlink()
    assert works.seen() is None
    assert at_work(UPath(tmp_path), "no_such_pipeline", NOW) == ()
