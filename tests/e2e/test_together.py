"""Several pipelines of one topic in one application: `sluice drain A B C` as a process, over real
Kafka and Spark.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from spark_jobs.contract.errors import CheckFailed, ProcessorFailed, ReportMissing, Stopped
from spark_jobs.contract.paths import report_path
from spark_jobs.contract.report import Report, read_report
from spark_jobs.contract.settings import REPO
from spark_jobs.launch.processes import kill_tree
from spark_jobs.launch.submit import application
from tests.harness import pipelines
from tests.harness.long_form import LONG, long_form
from tests.harness.pipelines import variables_of
from tests.harness.scene import Scene

pytestmark = pytest.mark.filterwarnings("default")  # Great Expectations warns while it loads
PATIENCE_SECONDS = 240
PACKAGE = "deployed_for_one_application"
BREAKS, FAILS = "aircraft_rotations", "impossible_delays"
EXACT = (BREAKS, "departure_delays", "flight_events")
"""Those for which the harness has an oracle."""
SAYS_ITS_JVM = """
import os, sys
if any(word.endswith("main.py") for word in sys.argv[:1]):
    print("loaded beside the JVM", os.getppid(), file=sys.stderr)
"""
"""Of the pipelines' package, which each drain loads anew."""
BREAKABLE = '''"""The shipped logic, which can be made to fail."""

import os

from spark_jobs.pipelines.aircraft_rotations.logic import Rotations as Shipped


class Rotations(Shipped):
    """Fails where SLUICE_TEST_BREAKS is set."""

    def handleInputRows(self, key, rows, timerValues):
        if os.environ.get("SLUICE_TEST_BREAKS"):
            raise ValueError("this was asked for")
        return super().handleInputRows(key, rows, timerValues)
'''
FAILING = """
from spark_jobs.contract.checks import Check
from spark_jobs.pipelines.departure_delays.spec import SPEC as SHIPPED
from tests.harness.pipelines import on_the_tests_topic

check = Check(
    type="expect_column_values_to_be_between", kwargs={"column": "flights", "max_value": 0}
)
changes = {"name": "impossible_delays", "output_checks": (check,)}
SPEC = on_the_tests_topic(SHIPPED.model_copy(update=changes))
"""
SLUICE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from spark_jobs.cli import app; app()"
)
"""As in a terminal: see test_interrupt.py."""


class Group:
    """A root, a topic and a deployed copy of the pipelines."""

    def __init__(self, kafka: str, folder: Path) -> None:
        self.folder = folder
        code = folder / "code" / PACKAGE
        shutil.copytree(Path(pipelines.__file__).parent, code)
        with (code / "__init__.py").open("a") as package:
            package.write(SAYS_ITS_JVM)
        (code / BREAKS / "logic.py").write_text(BREAKABLE)
        (code / FAILS).mkdir()
        (code / FAILS / "__init__.py").touch()
        (code / FAILS / "spec.py").write_text(FAILING)
        first = Scene(kafka, folder, EXACT[0], events=1600, deliveries=2, stores=1)
        others = (Scene(kafka, folder, name, topic=first.topic, stores=1) for name in EXACT[1:])
        self.scenes = {scene.spec.name: scene for scene in (first, *others)}
        self.deliver = first.deliver
        self.settings = first.settings
        self.waiting = folder / "waiting"
        self.waiting.mkdir()
        self._variables = {
            **os.environ,
            **self.settings._replace(pipelines=PACKAGE).environment(),
            "PYTHONPATH": f"{REPO}:{code.parent}",
            **variables_of(first.spec),
            "SLUICE_TEST_CHECKED": "yes",  # one of them fails
            "SLUICE_FAILPOINTS_WAITING": str(self.waiting),
        }
        self._started = list[subprocess.Popen[str]]()

    def start(self, run_id: str, *names: str, **variables: str) -> subprocess.Popen[str]:
        """`sluice drain`, begun; what it says goes into a file."""
        with self.said(run_id).open("w") as said:
            process = subprocess.Popen(
                [sys.executable, "-c", SLUICE, "drain", *names, "--run-id", run_id],
                env=self._variables | variables,
                stdout=said,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self._started.append(process)
        return process

    def drain(self, run_id: str, *names: str, **variables: str) -> tuple[int, str]:
        """Its exit status, and what it said."""
        status = self.start(run_id, *names, **variables).wait(PATIENCE_SECONDS)
        return status, self.said(run_id).read_text()

    def said(self, run_id: str) -> Path:
        return self.folder / f"{run_id}.said"

    def report(self, name: str, run_id: str) -> Report:
        return read_report(report_path(self.settings.root, name, run_id))

    def problems(self, run_id: str) -> dict[str, str | None]:
        """Pipeline -> problem, of this run's rows in ops.runs."""
        rows = self.scenes[BREAKS].ops("runs", "pipeline, run_id, problem")
        mine = [row for row in rows if row["run_id"] == run_id]
        assert len(mine) == len({row["pipeline"] for row in mine}), "a row twice"
        return {row["pipeline"]: row["problem"] for row in mine}

    def hold(self, process: subprocess.Popen[str], run_id: str, place: str) -> None:
        """Until the failpoint holds a drain."""
        wait(lambda: (self.waiting / place).exists() or process.poll() is not None, place)
        assert process.poll() is None, self.said(run_id).read_text()

    def let_go(self, place: str) -> None:
        (self.waiting / place).unlink()

    def assert_exact(self, *names: str) -> None:
        for name in names:
            self.scenes[name].assert_exact()

    def end(self) -> None:
        """Leave nothing of it."""
        for process in self._started:
            kill_tree(process.pid)
            process.wait()
        for process in psutil.process_iter():  # drivers whose JVM was killed
            with contextlib.suppress(psutil.Error):
                if str(self.folder) in " ".join(process.cmdline()):
                    kill_tree(process.pid)


def wait(moment: Callable[[], bool], what: str) -> None:
    """Until the moment has come."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not moment():
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE_SECONDS} s"
        time.sleep(0.02)


def jvms(said: str) -> list[str]:
    """The JVM of each drain, beside which it has loaded the pipelines' code."""
    return re.findall(r"loaded beside the JVM (\d+)", said)


@pytest.fixture
def group(kafka: str, spark: object, tmp_path: Path) -> Iterator[Group]:
    made = Group(kafka, tmp_path)
    try:
        yield made
    finally:
        made.end()


def test_a_failed_drain_and_a_failed_check_leave_the_others_and_all_tables_are_exact(
    group: Group,
) -> None:
    group.deliver()
    well = EXACT[1:] if LONG else EXACT[1:2]
    names = (BREAKS, FAILS, *well)
    status, said = group.drain("first", *names, SLUICE_TEST_BREAKS="1")
    assert status == ProcessorFailed.exit_status, said
    assert group.problems("first") == {
        **dict.fromkeys(well),
        BREAKS: ProcessorFailed.code,
        FAILS: CheckFailed.code,
    }
    assert "left to another application" in said
    first, *others = jvms(said)
    assert len(others) == 1 + len(well), said
    assert {*others} == {others[0]} != {first}, "behind a failed check, the same JVM"
    drained = "".join(f"; {name} drained" for name in well)
    assert said.splitlines()[-1] == (
        f"{len(names)} pipelines: aircraft_rotations failed (PROCESSOR_FAILED); "
        f"impossible_delays failed (CHECK_FAILED){drained}"
    )
    group.assert_exact(*well)

    if LONG:  # two of them have shared one above, and test_warm.py has a second delivery
        group.deliver()
        status, said = group.drain("second", *EXACT)
        assert status == 0, said
        assert len(jvms(said)) == 3
        assert len({*jvms(said)}) == 1, said
        assert [group.report(name, "second").account.unaccounted for name in EXACT] == [0, 0, 0]
        group.assert_exact(*EXACT)


@long_form
def test_a_killed_application_is_a_kill_of_the_drain_at_work_and_no_more(group: Group) -> None:
    group.deliver()
    first, killed, last = "flight_events", "departure_delays", BREAKS
    process = group.start("killed", first, killed, last, SLUICE_FAILPOINTS="planned=wait")
    group.hold(process, "killed", "planned")
    group.let_go("planned")
    wait(lambda: report_path(group.settings.root, first, "killed").exists(), "the first's end")
    group.hold(process, "killed", "planned")
    [jvm] = {*jvms(group.said("killed").read_text())}
    kill_tree(int(jvm))
    group.let_go("planned")
    group.hold(process, "killed", "planned")
    group.let_go("planned")
    assert process.wait(PATIENCE_SECONDS) == ReportMissing.exit_status
    assert group.problems("killed") == {first: None, killed: ReportMissing.code, last: None}
    assert len({*jvms(group.said("killed").read_text())}) == 2
    status, said = group.drain("again", first, killed, last)
    assert status == 0, said
    assert group.report(killed, "again").batches[0] == 0, "the batch that was planned"
    group.assert_exact(*EXACT)


@long_form
def test_ctrl_c_lets_the_batch_at_work_end_and_begins_no_other_pipeline(group: Group) -> None:
    group.deliver()
    names = (EXACT[1], EXACT[0], EXACT[2])
    process = group.start("stopped", *names, SLUICE_FAILPOINTS="planned=wait")
    group.hold(process, "stopped", "planned")
    process.send_signal(signal.SIGINT)
    said = group.said("stopped")
    wait(lambda: "stopping when the batch at work has ended" in said.read_text(), "an answer")
    group.let_go("planned")
    assert process.wait(PATIENCE_SECONDS) == Stopped.exit_status, said.read_text()
    assert group.problems("stopped") == dict.fromkeys(EXACT, Stopped.code)
    assert group.report(names[0], "stopped").batches == (0,)
    assert len(jvms(said.read_text())) == 1
    assert "Traceback" not in said.read_text()
    assert not [each for each in psutil.process_iter() if _is_of(each, str(group.folder))]
    status, text = group.drain("next", *EXACT)
    assert status == 0, text
    group.assert_exact(*EXACT)


def _is_of(process: psutil.Process, folder: str) -> bool:
    with contextlib.suppress(psutil.Error):
        words = process.cmdline()
        return application() in words and folder in " ".join(words)
    return False
