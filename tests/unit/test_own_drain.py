"""What a worker drains for itself is none of its clients'."""

import json
import math
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from spark_jobs.errors import Stopped
from spark_jobs.launch.scratch import FOLDERS
from spark_jobs.launch.warm.inside import idle, own_drain, surroundings
from spark_jobs.launch.warm.inside.own_drain import LeftBehind, OwnDrains, Wanted, pipeline, write
from spark_jobs.launch.warm.inside.reception import Job, Turn
from spark_jobs.launch.warm.place import Address
from spark_jobs.messages.report import Problem, Report
from spark_jobs.settings.installation import NOBODY, Settings
from spark_jobs.storage import failpoint
from tests.harness.roots import told

GIVEN = Settings(
    "/their/root", "their.broker:9", "/jars", "local[2]", "2g", catalog="thrift://h:1/d", next="on"
)


@pytest.fixture
def turn(tmp_path):
    return Turn(Address(tmp_path / "w.sock"))


def test_it_drains_made_records_from_its_scratch_folder_and_knows_no_root_or_broker_of_a_client(
    tmp_path, monkeypatch, turn
):
    """A client waits already: a drain stops before it starts Spark."""
    monkeypatch.setenv(FOLDERS, f"{tmp_path / 'scratch'},{tmp_path / 'other'}")
    monkeypatch.setitem(failpoint.ACTIVE, "leased", "raise")
    # Else the tests' own modules would be forgotten, as a client's are.
    monkeypatch.setattr(surroundings, "_users_modules", list)
    folder = tmp_path / "scratch" / "idle"
    before = dict(os.environ)
    own = OwnDrains(GIVEN)
    turn.take(Job(None, None))
    assert [own.next(turn), own.next(turn)] == [False, False]
    assert dict(os.environ) == before
    runs = told(folder / "root", "runs")
    assert {(row["pipeline"], row["run_id"], row["problem"]) for row in runs} == {
        ("idle", "idle-1", Stopped.code), ("idle", "idle-2", Stopped.code)
    }  # fmt: skip
    files = [path.read_text().splitlines() for path in sorted((folder / "records").iterdir())]
    [first, second] = [[json.loads(line) for line in lines] for lines in files]
    assert len(first) == len(second) > len({row["id"] for row in first}), "copies are dropped"
    assert not {row["id"] for row in first} & {row["id"] for row in second}
    closes = datetime.fromisoformat(second[0]["at"]) - datetime.fromisoformat(first[0]["at"])
    assert closes > pipeline(tmp_path).watermark_delay
    assert [*tmp_path.iterdir()] == [tmp_path / "scratch"]
    own.remove()
    assert not folder.exists()


@pytest.fixture
def drains(tmp_path, monkeypatch):
    """Own drains, and a function that says what a drain of theirs does."""
    monkeypatch.setenv(FOLDERS, str(tmp_path))
    monkeypatch.setattr(surroundings, "_users_modules", list)  # as above

    def does(drain):
        monkeypatch.setitem(sys.modules, "a_drain", SimpleNamespace(drain=drain))
        monkeypatch.setattr(own_drain, "DRAIN", "a_drain:drain")

    return OwnDrains(GIVEN), does


def test_one_at_work_hears_who_wants_the_worker_and_has_not_come_to_its_end(tmp_path, drains, turn):
    own, does = drains
    heard = []

    def drain(spec, settings, run_id, stop):
        heard.append(stop.asked)
        turn.take(Job(None, None))
        heard.append(stop.asked)
        assert Path.cwd() == tmp_path / "idle"
        assert os.environ["SLUICE_ROOT"] == settings.root == str(tmp_path / "idle" / "root")
        assert os.environ["SLUICE_KAFKA"] == settings.kafka == NOBODY
        assert Path(spec.topic.path) == tmp_path / "idle" / "records"
        with pytest.raises(Stopped) as stopped:
            stop.raise_if_asked()
        return report(run_id, Problem.of(stopped.value))

    does(drain)
    before = Path.cwd(), dict(os.environ)
    assert own.next(turn) is False
    assert heard == ["", "a client"]
    assert (Path.cwd(), dict(os.environ)) == before
    does(lambda *given: report(given[2]))
    assert own.next(turn) is True


def test_what_one_leaves_in_the_process_is_told_though_it_failed(monkeypatch, drains, turn):
    own, does = drains

    def put_back(was):
        raise ValueError("it cannot be raised again")

    def drain(*given):
        raise OSError("no room")

    monkeypatch.setattr(surroundings, "VALUES", (*surroundings.VALUES, (int, put_back)))
    does(drain)
    with pytest.raises(LeftBehind, match="raised again"):
        own.next(turn)


def report(run_id: str, problem: Problem | None = None) -> Report:
    now = datetime.now(UTC)
    return Report(
        pipeline="idle",
        run_id=run_id,
        status="failed" if problem else "succeeded",
        problem=problem,
        started_at=now,
        ended_at=now,
    )


def test_it_is_to_stop_as_soon_as_somebody_wants_the_worker(turn):
    wanted = Wanted(turn)
    wanted.raise_if_asked()
    turn.take(Job(None, None))
    assert wanted.asked
    with pytest.raises(Stopped):
        wanted.raise_if_asked()
    turn.rest("it is old")
    assert wanted.asked == "it is old"


def test_a_file_has_settled_when_it_is_drained(tmp_path):
    write(tmp_path, 1)
    [path] = tmp_path.iterdir()
    settled = pipeline(tmp_path).topic.settled.total_seconds()
    assert path.stat().st_mtime < path.stat().st_ctime - settled


def test_the_share_of_processors_that_is_free_is_one_and_none_where_nobody_tells(monkeypatch):
    assert 0 <= idle.free() <= 1
    monkeypatch.setattr(idle.psutil, "cpu_percent", lambda **_: [100.0, 50.0])
    monkeypatch.setattr(idle.os, "sched_getaffinity", lambda _: {1})
    assert idle.free() == 0.5
    monkeypatch.setattr(idle.os, "sched_getaffinity", lambda _: {0, 1})
    assert idle.free() == 0.25

    def refused(**_):
        raise PermissionError("/proc/stat")

    monkeypatch.setattr(idle.psutil, "cpu_percent", refused)
    assert idle.free() == 0


def test_no_idle_drain_comes_where_a_control_group_may_take_less_than_its_processors(monkeypatch):
    monkeypatch.setattr(idle.os, "sched_getaffinity", lambda _: {0, 1})
    asked = []
    own = idle.Idle(asked, lambda: 1.0)
    for most, expected in ((1.0, False), (2.0, True), (math.inf, True)):
        monkeypatch.setattr(idle, "processors", lambda most=most: most)
        assert own.warms(0) == expected
        assert own.is_due(0, idle.RESTED_SECONDS) == expected
