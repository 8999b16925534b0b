"""Runs through a worker that keeps a JVM: `sluice` as processes, with SLUICE_WARM=on."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import CheckFailed, ReportMissing, Stopped
from spark_jobs.launch import submit
from spark_jobs.launch.processes import kill_tree, tree
from spark_jobs.launch.scratch import FOLDERS, scratch
from spark_jobs.launch.submit import DAEMON
from spark_jobs.launch.warm import start
from spark_jobs.launch.warm.client import begun
from spark_jobs.launch.warm.fits import shown
from spark_jobs.launch.warm.link import Shown
from spark_jobs.launch.warm.place import idling, log_path, socket_path, socket_paths
from spark_jobs.messages.job import Drain
from spark_jobs.messages.report import Report, read_report
from spark_jobs.settings.installation import REPO, Settings
from tests.harness import oracle, pipelines
from tests.harness.compare import assert_same
from tests.harness.long_form import long_form
from tests.harness.patience import patient
from tests.harness.pipelines import variables_of
from tests.harness.process import lives
from tests.harness.scene import Scene
from tests.harness.turns import held_by

pytestmark = [
    pytest.mark.filterwarnings("default"),  # Great Expectations warns while it loads
    held_by("unit/test_warm_worker.py", "faults/test_warm_campaign.py"),
]
PATIENCE_SECONDS = patient(180)
PACKAGE = "deployed_beside_a_worker"
FIRST, SECOND = "departure_delays", "flight_events"
TURNS = (FIRST, SECOND, "aircraft_rotations", "silent_gates")
MOST_GROWTH_MB = 300
IMPOSSIBLE = """
from spark_jobs.spec import Check
NONE = Check(type="expect_column_values_to_be_between", kwargs={"column": "flights", "max_value": 0})
SPEC = SPEC.model_copy(update={"output_checks": (NONE,)})
"""
EAGER = """
import sys
if idle := sys.modules.get("spark_jobs.launch.warm.inside.idle"):  # in a worker alone
    idle.FREE = idle.RESTED_SECONDS = 0.0
    idle.ENOUGH = 9
"""
"""Of a pipeline whose next scheduled run is awaited, as every hourly one's: its worker does many
idle drains, at once, whatever else the machine does.
"""
UNFIT = f"""{EAGER}
    import os
    from pathlib import Path
    root = Path(os.environ["{FOLDERS}"].split(",")[0], "idle", "root")
    root.parent.mkdir(exist_ok=True)
    root.touch()
"""
"""And in the place of their root there is a file."""


class Installation:
    """A root, a deployed copy of the pipelines, and the command line with a worker."""

    def __init__(self, kafka: str, folder: Path) -> None:
        self.folder = folder
        self.code = folder / "code" / PACKAGE
        shutil.copytree(Path(pipelines.__file__).parent, self.code)
        self.scene = Scene(kafka, folder, FIRST, events=2400, deliveries=3, checked=True, stores=1)
        self.socket = socket_path(self.scene.settings.root)
        self.waiting = folder / "waiting"
        self.waiting.mkdir()
        self.more: dict[str, str] = {"SLUICE_WARM": "on"}
        """Variables of its processes."""

    def variables(self) -> dict[str, str]:
        """Of its processes, beside those of this one."""
        return {
            **self.scene.settings._replace(pipelines=PACKAGE).environment(),
            "PYTHONPATH": f"{REPO}:{self.code.parent}",
            **variables_of(self.scene.spec),
            **self.more,
        }

    @contextlib.contextmanager
    def environment(self, **more: str) -> Iterator[None]:
        """Within the block, this process has them too, and can import the pipelines."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {**self.variables(), **more}.items():
                patch.setenv(name, value)
            patch.syspath_prepend(str(self.code.parent))
            yield

    def drain_here(self, pipeline: str, run_id: str) -> None:
        """A drain as this process's own client, without the command line's start."""
        settings = Settings.from_environment()
        words = Drain(
            pipeline=pipeline, report=str(self.report_path(run_id)), run_id=run_id
        ).words()
        variables = {**os.environ, **submit.environment(settings)}
        with (self.folder / "said").open("wb") as said:
            files = (said.fileno(), said.fileno())
            run = begun(settings, pipeline, words, variables, 1, files)
            assert run is not None, log_path(self.socket).read_text()
            run.follow()

    def start(self, pipeline: str, run_id: str, failpoints: str = "") -> subprocess.Popen[str]:
        """`sluice drain`, begun."""
        report = str(self.report_path(run_id))
        return self.sluice("drain", pipeline, "--run-id", run_id, "--report", report, at=failpoints)

    def sluice(self, *words: str, at: str = "") -> subprocess.Popen[str]:
        """A command, begun. `at` has its failpoints."""
        variables = {
            **os.environ,
            **self.variables(),
            "SLUICE_FAILPOINTS": at,
            "SLUICE_FAILPOINTS_WAITING": str(self.waiting),
        }
        return subprocess.Popen(
            [sys.executable, "-m", "spark_jobs.cli", *words],
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def drain(self, pipeline: str, run_id: str) -> str:
        """What a drain that ends well said."""
        return said(self.start(pipeline, run_id))

    def repair(self, at: str = "") -> subprocess.Popen[str]:
        """`sluice repair` of FIRST, begun."""
        return self.sluice("repair", FIRST, "--execute", "--yes", at=at)

    def assert_merged(self) -> None:
        """The table has late records, those that ops.merged names, and is DuckDB's with them."""
        scene = self.scene
        late, merged = ({place(row) for row in scene.ops(name)} for name in ("late", "merged"))
        assert merged
        until = scene.ops("batches", "max(watermark) AS watermark")[0]["watermark"]
        wanted = oracle.RESULTS[FIRST](oracle.events(scene.ledger, late - merged), until)
        assert_same(oracle.comparable(scene.table()), oracle.comparable(wanted), "rows")

    def add(self, code: str) -> None:
        """To the spec of FIRST."""
        with (self.code / FIRST / "spec.py").open("a") as spec:
            spec.write(code)

    def wait_for_idle_drain(self) -> None:
        """Until one is under way."""
        wait(lambda: self.log.count(", while nobody") > self.log.count("the idle drain"), "it")

    @contextlib.contextmanager
    def no_idle_drain(self) -> Iterator[None]:
        """Within the block none is under way, and none begins."""
        with contextlib.ExitStack() as lock:

            def alone() -> bool:
                lock.close()
                return lock.enter_context(idling(self.socket))

            wait(alone, "an idle drain's end")
            yield

    @property
    def log(self) -> str:
        """The worker's."""
        return log_path(self.socket).read_text()

    def hold(self, process: subprocess.Popen[str], place: str) -> None:
        """Until the failpoint holds the drain."""
        wait(lambda: (self.waiting / place).exists() or process.poll() is not None, place)
        assert process.poll() is None, process.communicate()[0]

    def report_path(self, run_id: str) -> Path:
        return self.folder / f"{run_id}.json"

    def report(self, run_id: str) -> Report:
        return read_report(self.report_path(run_id))

    @property
    def worker(self) -> Shown:
        """The worker, which is there."""
        found = shown(self.socket)
        assert found is not None, log_path(self.socket).read_text()
        return found


def said(process: subprocess.Popen[str]) -> str:
    """What a command that ends well said."""
    with process:
        heard = process.communicate(timeout=PATIENCE_SECONDS)[0]
    assert process.returncode == 0, heard
    return heard


def status(process: subprocess.Popen[str]) -> int:
    """Its exit status, once it has ended."""
    with process:
        process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode


def swept(home: Path) -> bool:
    """Whether nothing is left there behind a start: a killed JVM's threads may have its lock yet."""
    with scratch(os.environ):
        pass
    return not [*home.iterdir()]


def place(row: dict[str, Any]) -> oracle.Place:
    return row["partition"], row["offset"]


def wait(moment: Callable[[], bool], what: str) -> None:
    """Until the moment has come."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not moment():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_SECONDS} s"
        time.sleep(0.02)


@pytest.fixture
def temporary(tmp_path_factory) -> Iterator[Path]:
    """A temporary folder of this process and of those that it starts."""
    tmp_path_factory.getbasetemp()  # made now, else in this folder, which goes
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)
        patch.setenv("TMPDIR", folder)
        yield Path(folder)


@pytest.fixture
def installation(kafka, tmp_path) -> Iterator[Installation]:
    """It leaves no worker."""
    made = Installation(kafka, tmp_path)
    try:
        yield made
    finally:
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if str(made.socket.with_suffix("")) in " ".join(process.cmdline()):
                    kill_tree(process.pid)
        for started in start._STARTED:  # noqa: SLF001 - nobody else waits for them here
            started.wait()


def test_two_pipelines_drain_in_turn_in_one_worker_and_both_tables_are_exact(
    spark, temporary, installation
):
    """The worker does drains of its own between them, and is killed in one."""
    scene, home = installation.scene, temporary / f"sluice-scratch-{os.getuid()}"
    installation.add(EAGER)
    scene.deliver()
    assert "starts cold" not in installation.drain(FIRST, "first")
    born = installation.worker
    assert (born.drains, born.run, born.ending) == (1, "", "")
    wait(lambda: installation.worker.idle_drains > 0, "an idle drain")
    with installation.no_idle_drain():
        assert "starts cold" not in installation.drain(SECOND, "second")
    last = installation.worker
    assert (last.process, last.drains) == (born.process, 2)
    assert last.idle_seconds > 0
    installation.wait_for_idle_drain()
    left = tree(born.process)
    kill_tree(born.process)
    wait(lambda: not any(lives(each.pid) for each in left), "the worker's end")
    wait(lambda: swept(home), "an empty home: the next start removes what a killed one leaves")
    other = Scene(scene.kafka, installation.folder, SECOND, topic=scene.topic)
    scene.assert_exact()
    other.assert_exact()


def test_a_failed_run_leaves_no_scratch_and_a_failed_check_leaves_the_worker(
    spark, temporary, installation
):
    scene, home = installation.scene, temporary / f"sluice-scratch-{os.getuid()}"
    installation.add(IMPOSSIBLE)
    scene.deliver()
    failed = status(installation.start(FIRST, "failed", "checks=raise"))
    assert failed not in {0, CheckFailed.exit_status}
    assert not [*home.iterdir()]
    installation.add(UNFIT)
    born = []
    for run_id in ("refused", "again"):
        assert status(installation.start(FIRST, run_id)) == CheckFailed.exit_status
        born.append(installation.worker.process)
        wait(lambda: not installation.worker.warms, "an idle drain that fails")
    assert installation.log.count("no other one comes") == 1
    assert born[0] == born[1]
    installation.drain(SECOND, "second")
    assert (installation.worker.process, installation.worker.drains) == (born[0], 3)
    Scene(scene.kafka, installation.folder, SECOND, topic=scene.topic).assert_exact()


def test_two_drains_at_once_have_a_worker_each_and_both_tables_are_exact(spark, installation):
    """By auto, on a machine with the memory and the cores for two."""
    scene = installation.scene
    installation.more = {"SLUICE_WARM": "auto", "SLUICE_DRIVER_MEMORY": "1g"}
    scene.deliver()
    first = installation.start(FIRST, "first", "planned=wait")
    installation.hold(first, "planned")
    heard = installation.drain(SECOND, "second")
    there = [found for path in socket_paths(scene.settings.root) if (found := shown(path))]
    (installation.waiting / "planned").unlink()
    assert "starts cold" not in heard + said(first)
    assert sorted((each.drains, bool(each.run)) for each in there) == [(0, True), (1, False)]
    other = Scene(scene.kafka, installation.folder, SECOND, topic=scene.topic)
    scene.assert_exact()
    other.assert_exact()


@long_form
def test_where_no_worker_can_listen_a_drain_by_auto_is_cold_and_exact(spark, installation):
    scene = installation.scene
    shared = installation.folder / "temporary" / installation.socket.parent.name
    shared.mkdir(parents=True)
    shared.chmod(0o755)
    installation.more = {"SLUICE_WARM": "auto", "TMPDIR": str(shared.parent)}
    scene.deliver()
    assert "starts cold: no worker can be started" in installation.drain(FIRST, "cold")
    scene.assert_exact()


def test_a_repair_is_computed_by_the_drains_worker_and_a_killed_one_by_the_next(
    spark, installation
):
    scene = installation.scene
    for number in range(2):
        scene.deliver()
        scene.run(f"drain-{number}")
    scene.deliver()
    installation.drain(FIRST, "drain-2")
    born, before = installation.worker, scene.table()
    killed = installation.repair("staged=wait")
    installation.hold(killed, "staged")
    assert FIRST in installation.worker.run
    assert installation.worker.process == born.process
    kill_tree(born.process)
    told = killed.communicate(timeout=PATIENCE_SECONDS)[0]
    assert killed.returncode == ReportMissing.exit_status, told
    assert scene.table() == before
    (installation.waiting / "staged").unlink()

    assert "starts cold" not in said(installation.repair())
    assert installation.worker.process != born.process
    installation.assert_merged()
    installation.drain(SECOND, "behind the repair")  # of FIRST's nothing is new
    assert installation.worker.drains == 2, "the repair was its first run"


@long_form
def test_changed_code_ends_the_worker_and_a_kill_of_it_is_a_kill_of_its_drain(spark, installation):
    scene = installation.scene
    scene.deliver()
    installation.drain(FIRST, "first")
    born = installation.worker
    scene.deliver()
    with (installation.code / FIRST / "spec.py").open("a") as spec:
        spec.write("\nimport sys\nprint('this is the changed code', file=sys.stderr)\n")
    killed = installation.start(FIRST, "killed", "planned=wait")
    installation.hold(killed, "planned")
    worker = installation.worker
    planned = Checkpoint(scene.paths.checkpoint).planned()[-1]
    assert worker.process != born.process
    wait(lambda: not lives(born.process), "the first worker's end")
    kill_tree(worker.process)
    said = killed.communicate(timeout=PATIENCE_SECONDS)[0]
    assert killed.returncode == ReportMissing.exit_status, said
    assert "changed since the last one: code of" in said
    assert "this is the changed code" in said
    assert "the worker died in this run, or was killed" in said
    assert not lives(worker.process)
    (installation.waiting / "planned").unlink()

    recovered = scene.run("recovers")
    assert recovered.batches[0] == planned
    scene.assert_exact()


@long_form
def test_a_worker_whose_python_daemon_was_killed_takes_no_other_drain(spark, installation):
    scene = installation.scene
    scene.deliver()
    installation.drain(FIRST, "first")
    installation.drain("aircraft_rotations", "first-by-python")
    born = installation.worker
    killed = 0
    for process in tree(born.process):
        with contextlib.suppress(psutil.Error):  # workers that were killed behind the drain
            if DAEMON in process.cmdline():
                process.kill()
                killed += 1
    assert killed
    scene.deliver()
    assert "starts cold" not in installation.drain(FIRST, "second")
    assert installation.worker.process != born.process
    assert (
        "its Python daemon is gone"
        in log_path(installation.socket).with_suffix(".log.before").read_text()
    )
    scene.assert_exact()


@long_form
def test_a_killed_client_lets_the_batch_end_and_ends_the_worker(spark, installation):
    scene = installation.scene
    scene.deliver()
    abandoned = installation.start(FIRST, "abandoned", "planned=wait")
    installation.hold(abandoned, "planned")
    last = installation.worker
    abandoned.send_signal(signal.SIGTERM)
    assert abandoned.wait(PATIENCE_SECONDS) == -signal.SIGTERM
    (installation.waiting / "planned").unlink()
    wait(lambda: not installation.socket.exists() and not lives(last.process), "the worker's end")
    abandoned.communicate()
    problem = installation.report("abandoned").problem
    assert problem.code == Stopped.code
    assert holder(scene.paths.lease) is None
    scene.run("the last")
    scene.assert_exact()


@long_form
def test_a_worker_that_has_done_many_drains_has_not_grown(spark, installation):
    """SLUICE_WARM_RUNS says how many; after the first the worker may grow by MOST_GROWTH_MB."""
    count = int(os.environ.get("SLUICE_WARM_RUNS", "60"))
    scene, folder = installation.scene, installation.folder
    rounds = count // len(TURNS)
    many = Scene(
        scene.kafka, folder, FIRST, events=40 * rounds, deliveries=rounds, topic=scene.topic
    )
    with installation.environment(SLUICE_WARM_DRAINS=str(count + 1)):
        memory = list[int]()
        for number in range(rounds):
            many.deliver()
            for pipeline in TURNS:
                installation.drain_here(pipeline, f"{pipeline}-{number}")
                assert installation.report(f"{pipeline}-{number}").problem is None
            memory.append(installation.worker.memory_mb)
        (folder / "memory").write_text(f"MB after each round: {memory}")
    assert installation.worker.drains == rounds * len(TURNS)
    many.assert_exact()
    first = max(memory[: max(5, rounds // 10)])
    assert max(memory) - first <= MOST_GROWTH_MB, memory
