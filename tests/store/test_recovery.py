"""Killed, resumed, taken back, mended and begun anew, with the root in the store: exact."""

import os
import signal
import sys
from pathlib import Path

import psutil
import pytest
from s3fs import S3FileSystem

from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.reset import reset
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint import object_lease
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import holder, lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.object_lease import ObjectLease
from spark_jobs.errors import CheckpointBroken, LeaseHeld, RootUnreachable, StateUnreadable
from spark_jobs.journal import runner
from spark_jobs.journal.runner import settle
from spark_jobs.messages.job import StateQuery
from spark_jobs.messages.report import Report
from spark_jobs.runs import repartition as work
from spark_jobs.runs.explain import explain
from spark_jobs.runs.plan import plan
from spark_jobs.runs.told.state_view import state_view
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.store import translate_store_error
from spark_jobs.table.delta.table import Delta
from tests.harness.long_form import LONG, long_form
from tests.harness.patience import patient
from tests.harness.process import Running
from tests.harness.ran import ran
from tests.harness.refused import because, fails, has
from tests.harness.scene import Scene
from tests.harness.store_proxy import Harm, between
from tests.harness.turns import held_by
from tests.store.root import Root, copied, of

pytestmark = held_by(
    "spark/test_safety.py", "spark/test_reset.py", "unit/test_doctor.py", "store/test_faults.py"
)

PLACES = ("planned", "table.committed", "audit", "judged") if LONG else ("table.committed", "audit")
"""Of the failpoints: between them a store is as a disk, and tests/spark has them all."""
RUNS = 2 if LONG else 1
"""That `base` has drained. To what the short form has of it the first is as good as the second."""
SHORT_LIFE, SHORT_BEAT = 15.0, 1.0
"""Of a lease, in seconds: a test does not wait for a minute."""


@pytest.fixture(scope="module")
def base(kafka, bucket, store, as_submitted, tmp_path_factory) -> Scene:
    """RUNS deliveries drained, each in a batch with data and one without, and one more that waits."""
    folder = tmp_path_factory.mktemp("base")
    scene = Root(store, bucket).under(
        Scene(kafka, folder, "aircraft_rotations", events=1500, deliveries=3, stores=1)
    )
    for number in range(RUNS):
        scene.deliver()
        scene.run(f"run-{number}")
    scene.assert_exact()
    assert plan(scene.spec, scene.settings).idle
    scene.deliver()
    return scene


@pytest.fixture
def drained(base, store) -> Scene:
    """A copy of it."""
    return copied(base, store)


def test_a_drain_that_is_killed_keeps_its_lease_until_it_expires_and_the_next_goes_on_from_there(
    scene, store, tmp_path, monkeypatch
):
    made = scene("aircraft_rotations", events=600, deliveries=2)
    made.deliver()
    profile = tmp_path / "credentials"
    profile.write_text(
        f"[sluice]\naws_access_key_id = {store.access_key}\naws_secret_access_key = "
        f"{store.secret_key}\n"
    )
    with monkeypatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.delenv(name)
        for name, value in {
            "AWS_SHARED_CREDENTIALS_FILE": str(profile),
            "AWS_PROFILE": "sluice",
        }.items():
            patch.setenv(name, value)
        running = Running(made, tmp_path, "killed", "leased=wait table.committed=wait")
    running.hold("leased")
    second = made.drain("second").problem
    because(second, LeaseHeld, "held_until", holder=has("run killed (process "))
    with fails(LeaseHeld, "held_until", holder=has("run killed")):
        reset(made.spec, made.settings).execute()
    assert_nobody_shows(store.secret_key)
    running.let_go("leased")
    running.hold("table.committed")
    assert_nobody_shows(store.secret_key)
    running.kill()
    assert running.end() in {-signal.SIGKILL, 128 + signal.SIGKILL}
    assert (
        Checkpoint(made.paths.checkpoint).planned(),
        Checkpoint(made.paths.checkpoint).committed(),
    ) == ([0], [])
    assert store.secret_key not in running.said

    with fails(LeaseHeld, "held_until", holder=has("run killed")):
        ObjectLease(made.paths.lease, "at once").take()
    monkeypatch.setattr(object_lease, "TTL_SECONDS", SHORT_LIFE)
    monkeypatch.setattr(object_lease, "RENEW_SECONDS", SHORT_BEAT)
    running.wait_until(
        lambda: holder(made.paths.lease) is None, "the end of a dead run's lease", pause=1.0
    )
    made.deliver()
    made.run("next")
    made.assert_exact()


def test_a_drain_that_loses_its_lease_behind_its_look_commits_nothing(drained, store, monkeypatch):
    """As the next holder does, which removes the object before it begins."""
    before, looked = drained.table(), Delta.refuse_changed

    def taken(*known):
        root = of(drained, store)
        [held] = [name for name in root.objects("checkpoints") if "/lease." in name]
        root.remove(held)
        looked(*known)

    with monkeypatch.context() as patch:
        patch.setattr(Delta, "refuse_changed", taken)
        report = drained.drain("late")
    assert report.problem.code == "LEASE_LOST"
    assert drained.table() == before
    drained.run("next")
    drained.assert_exact()


def assert_nobody_shows(secret: str) -> None:
    """No process of this machine has it on its command line."""
    for process in psutil.process_iter(["cmdline"]):
        assert not any(secret in word for word in process.info["cmdline"] or ()), process


def test_what_a_crash_leaves_at_each_place_is_gone_on_from(scene, store, monkeypatch):
    """Copies of the root at each failpoint, without the lease: as if it had expired."""
    made = scene("flight_events", events=600, deliveries=2)
    made.deliver()
    passed = set[str]()
    images = dict[str, Scene]()

    def at(place: str):
        if place in PLACES and place not in images:
            images[place] = copied(made, store)
        passed.add(place)

    with monkeypatch.context() as patch:
        patch.setattr(failpoint, "at", at)
        made.run("first")
    assert passed == failpoint.POINTS.keys() - {"reported"}, "that is main.py's"
    made.deliver()
    for place in PLACES:
        crashed = images[place]
        left = of(crashed, store)
        for name in left.objects("checkpoints"):
            if "/lease." in name:
                left.remove(name)
        crashed.run(f"after {place}")
        crashed.assert_exact()


@long_form
def test_going_back_leaves_the_checkpoint_and_the_next_run_reads_on_from_a_copy(drained, store):
    before = of(drained, store).objects()
    intent = rewind(drained.spec, drained.settings, 1)
    assert of(drained, store).objects() == before, "showing changes nothing"
    intent.execute()
    root = of(drained, store)
    assert Checkpoint(drained.paths.checkpoint).committed() == [0, 1]
    left = {name: tag for name, tag in before.items() if "/spark/" in name}
    assert left.items() <= root.objects().items()
    drained.run("again")
    drained.assert_exact()
    with fails(StateUnreadable, "state_incomplete"):
        rewind(drained.spec, drained.settings, 99)


def newest(root: Root, folder: str) -> str:
    entries = [name for name in root.objects(folder) if name.rpartition("/")[2].isdigit()]
    return max(entries, key=lambda name: int(name.rpartition("/")[2]))


@long_form
def test_a_repartition_that_was_cut_off_is_taken_back_and_one_that_counts_is_gone_on_from(
    drained, monkeypatch
):
    def number() -> object:
        known = read_identity(drained.paths)
        return known.fingerprint["state.shuffle_partitions"] if known else None

    with monkeypatch.context() as active:
        active.setitem(failpoint.ACTIVE, "repartition.written", "raise")
        active.setattr(runner, "_given_up", lambda *_: False)  # as if it were killed
        with pytest.raises(failpoint.Failure):
            list(work.repartition(drained.spec, drained.settings, 3))
    batch = Checkpoint(drained.paths.checkpoint).committed()[-1]
    assert (number(), Checkpoint(drained.paths.checkpoint).partitions(batch)) == (1, 1)
    said: list[str] = []
    report = drained.drain("behind it", said.append)
    assert report.status == "succeeded", report.problem
    assert any("is taken back" in line for line in said)
    drained.assert_exact()
    list(work.repartition(drained.spec, drained.settings, 3))
    assert number() == 3
    drained.run("in three stores")
    drained.assert_exact()


@long_form
def test_doctor_finds_a_whole_checkpoint_whole_and_mends_a_torn_commit(drained, store):
    root, before = of(drained, store), of(drained, store).objects()
    lines, execute = doctor(drained.spec, drained.settings)
    assert execute is None
    assert lines[-1].startswith(
        "nothing to fix: the files from which the next run resumes are whole"
    )
    assert not [line for line in lines if line.startswith("damaged")], lines
    assert root.objects() == before
    torn = newest(root, f"checkpoints/{drained.spec.name}/v1/spark/commits/")
    root.write(torn, root.read(torn)[:10])
    refused = drained.drain("refused")
    what = has(f"{root.url}/{torn} does not parse")
    because(refused.problem, CheckpointBroken, "file_damaged", what=what)
    lines, execute = doctor(drained.spec, drained.settings)
    assert execute is not None, lines
    execute()
    drained.run("mended")
    drained.assert_exact()


@long_form
def test_doctor_goes_back_behind_a_snapshot_that_is_torn_or_gone(drained, store):
    root = of(drained, store)
    snapshots = [
        name
        for name in root.objects(f"checkpoints/{drained.spec.name}/v1/spark/state/0/0/")
        if name.endswith(".zip")
    ]
    last = max(snapshots, key=lambda name: int(name.rpartition("/")[2].partition("_")[0]))
    root.write(last, root.read(last)[:100])
    refused = drained.drain("refused")
    assert refused.problem.code == "CHECKPOINT_BROKEN", refused.problem
    lines, execute = doctor(drained.spec, drained.settings)
    assert any(line == f"damaged: {root.url}/{last} is no whole zip file" for line in lines), lines
    execute()
    drained.run("mended")
    drained.assert_exact()


def test_beginning_anew_leaves_every_object_where_it_is(drained, store):
    root, before = of(drained, store), of(drained, store).objects()
    intent = reset(drained.spec, drained.settings)
    assert root.objects() == before
    intent.execute()
    mine = {
        name: tag
        for name, tag in before.items()
        if not name.startswith("ops/")
        and not name.endswith("/journal.json")
        and "/lease" not in name
    }
    assert mine.items() <= root.objects().items()
    new = drained.run("new")
    assert new.account.read == drained.ledger.num_rows


def test_a_reset_that_is_cut_off_is_told_and_completed(drained, store, monkeypatch):
    with between(store.endpoint) as proxy:
        with monkeypatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
            reached = of(drained, store).under(drained)
            intent = reset(reached.spec, reached.settings)
            proxy.do(Harm("lost", r"^PUT \S+/live\.json"))
            with pytest.raises(Exception, match=r".") as raised:
                intent.execute()
            assert isinstance(translate_store_error(raised.value), RootUnreachable), raised.value
        S3FileSystem.clear_instance_cache()
    again = of(drained, store).under(drained)
    [reason] = plan(again.spec, again.settings).reasons
    assert "a reset, begun " in reason
    settle(again.paths, "whoever comes next")
    assert read_identity(again.paths) is None
    assert not plan(again.spec, again.settings).idle


def test_explain_and_state_read_what_is_there(base):
    assert "TransformWithStateInPySpark" in "\n".join(explain(base.spec, base.settings))
    answered = "\n".join(state_view(base.spec, base.settings, StateQuery(limit=3)))
    assert f"batches 0 to {2 * RUNS - 1} can be read" in answered


@long_form
def test_the_command_drains_reports_into_the_root_and_shows_what_it_wrote_and_no_key_is_anywhere(
    scene, store, tmp_path
):
    made = scene("flight_events", events=600, deliveries=1, topic="flights-command")
    made.deliver()
    words = [str(Path(sys.executable).parent / "sluice")]
    env = {
        **os.environ,
        "COLUMNS": "400",
        **made.settings.environment(),
        "SLUICE_TEST_TOPIC": made.topic,
    }
    asked = ("drain", "flight_events", "--run-id", "by-hand")
    drained = ran(*words, *asked, env=env, cwd=None, timeout=patient(240))
    assert drained.returncode == 0, drained.stdout + drained.stderr
    root = of(made, store)
    assert (
        drained.stdout.splitlines()[-1] == f"report: {root.url}/reports/flight_events/by-hand.json"
    )
    report = Report.model_validate_json(root.read("reports/flight_events/by-hand.json"))
    assert report.account.read == made.ledger.num_rows
    shown = ran(*words, "show", "runs", env=env, timeout=patient(60))
    assert "by-hand" in shown.stdout, shown.stderr
    made.assert_exact()
    assert store.secret_key not in drained.stdout + drained.stderr + shown.stdout + shown.stderr
    written = [name for name in root.objects() if store.secret_key.encode() in root.read(name)]
    assert (written, len(root.objects()) > 10) == ([], True)


def test_the_lease_is_had_by_one_of_several_at_once(drained):
    with lease(drained.paths.lease, "the first"):
        refused = drained.drain("the second").problem
        because(refused, LeaseHeld, "held_until", holder=has("run the first"))
        assert "run the first" in str(holder(drained.paths.lease))
    assert holder(drained.paths.lease) is None
