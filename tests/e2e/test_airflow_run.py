"""The whole way: a real Airflow drains a real Kafka through Spark into Delta, and tells."""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import deltalake
import psutil
import pytest
from upath import UPath

from local import airflow_api
from local.airflow_api import Api
from local.airflow_settings import USER
from spark_jobs.errors import CheckFailed
from spark_jobs.launch.submit import application
from spark_jobs.messages.report import read_report
from spark_jobs.settings.installation import REPO
from tests.e2e import pipelines
from tests.harness.airflow_server import served
from tests.harness.compare import assert_same
from tests.harness.openlineage import Receiver, problems, receiving
from tests.harness.oracle import comparable
from tests.harness.patience import patient
from tests.harness.roots import ROOT, rows_of, told
from tests.harness.scene import Scene
from tests.harness.statsd import Statsd, statsd
from tests.harness.turns import held_by

PIPELINE, REFUSED = "departure_delays", "impossible_delays"
ACCEPT = f"{REFUSED}__accept"
OWN = "shop"
"""A DAG of one's own, which has the tasks of REFUSED as a group."""
OWN_FILE = f"""
from airflow.sdk import DAG
from airflow.providers.standard.operators.empty import EmptyOperator
from sluice_airflow import drain_group

with DAG("{OWN}", schedule=None):
    drain_group("{REFUSED}") >> EmptyOperator(task_id="mart")
"""
TASKS = ("plan", "drain", "check_output", "check_state", "publish")
PATIENCE_SECONDS = patient(300)
held = held_by("airflow/test_tasks.py", "airflow/test_drain_group.py", "unit/test_accept.py")
EVENTS = 1000


class Installed(NamedTuple):
    """An Airflow whose tasks see this module's Kafka, root and pipelines."""

    api: Api
    home: Path
    root: Path
    other: Path
    """REFUSED's root."""
    scene: Scene
    lineage: Receiver
    metrics: Statsd

    def tries(self, pipeline: str, run_id: str, task: str) -> int:
        """How often a task was begun: Airflow keeps a log of each try."""
        folder = self.home / "logs" / f"dag_id={pipeline}" / f"run_id={run_id}" / f"task_id={task}"
        return len(list(folder.glob("attempt=*.log")))

    def shown(self, pipeline: str) -> int:
        """The rows that consumers see in the published table."""
        path = str(self.root_of(pipeline) / "published" / pipeline)
        return int(deltalake.DeltaTable(path).to_pyarrow_table().num_rows)

    def root_of(self, pipeline: str) -> Path:
        """Where its DAG writes."""
        return self.other if pipeline == REFUSED else self.root

    def published(self, pipeline: str) -> list[dict[str, object]]:
        """The extra of each asset event of a pipeline."""
        return [
            event["extra"]
            for event in self.api.asset_events()
            if event["extra"].get("pipeline") == pipeline  # those of days have another
        ]


@pytest.fixture(scope="module")
def installed(kafka, tmp_path_factory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("airflow-run")
    home = folder / "airflow"
    root, other, dags = folder / ROOT, folder / "other", folder / "dags"
    shutil.copytree(REPO / "dags", dags)
    (dags / "own.py").write_text(OWN_FILE)
    scene = Scene(kafka, folder, PIPELINE, events=EVENTS, deliveries=1, topic="flights")
    with receiving() as lineage, statsd() as metrics, pytest.MonkeyPatch.context() as patch:
        patch.setattr(airflow_api, "POLL_SECONDS", 3.0)
        variables = {
            "SLUICE_KAFKA": kafka,
            "SLUICE_ROOT": str(root),
            "SLUICE_ROOT__OTHER": str(other),
            "SLUICE_PIPELINES": pipelines.__name__,
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__OPENLINEAGE__TRANSPORT": lineage.transport,
            "AIRFLOW__METRICS__STATSD_ON": "True",
            "AIRFLOW__METRICS__STATSD_PORT": str(metrics.port),
            "AIRFLOW__METRICS__METRICS_ALLOW_LIST": "sluice",
            # No file changes meanwhile, and to read one again takes a second of a core.
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
            # Who looks often takes a fifth of the processor seconds.
            "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "1.5",
        }
        with served(home, variables) as running, Api(running) as client:
            client.await_dags({PIPELINE, ACCEPT, OWN})
            yield Installed(client, home, root, other, scene, lineage, metrics)


@pytest.fixture(scope="module")
def first(installed) -> tuple[dict[str, int], list[str], dict[str, str]]:
    """The first run of both DAGs, one of whose drivers is killed at its first try."""
    api = installed.api
    lines = list[str]()
    counts = installed.scene.deliver()
    for name in (PIPELINE, OWN):
        api.trigger(name, "first")
    kill_driver(PIPELINE, "first-try1")
    states = api.wait("first", [PIPELINE, OWN], lines.append, seconds=PATIENCE_SECONDS)
    return counts, lines, states


def kill_driver(pipeline: str, run_id: str) -> None:
    """SIGKILL to the Python of a drain, as soon as there is one."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (
        found := [
            process for process in psutil.process_iter() if is_driver(process, pipeline, run_id)
        ]
    ):
        assert time.monotonic() < deadline, (
            f"Airflow has not begun the drain {run_id} of {pipeline}"
        )
        time.sleep(0.25)
    for process in found:
        process.kill()


def is_driver(process: psutil.Process, pipeline: str, run_id: str) -> bool:
    with contextlib.suppress(psutil.Error):
        words = process.cmdline()
        return (
            len(words) > 1
            and "python" in words[0]
            and application() in words
            and all(f'"{each}"' in words[-1] for each in (pipeline, run_id))
        )
    return False


def test_a_drain_that_was_killed_is_tried_again_judged_and_published(installed, first):
    counts, lines, states = first
    assert states == {PIPELINE: "success", OWN: "failed"}, "\n".join(
        [*lines, *installed.api.errors(PIPELINE, "first")]
    )
    assert f"{PIPELINE}: drain up_for_retry" in lines
    assert installed.tries(PIPELINE, "first", "drain") == 2
    assert set(installed.api.tasks(PIPELINE, "first").values()) == {"success"}

    installed.scene.assert_exact()
    [path] = (installed.root / "reports" / PIPELINE).glob("first-*.json")
    assert path.stem == "first-try2", "the first was killed, and left none"
    rows = [row for row in installed.scene.ops("runs") if row["pipeline"] == PIPELINE]
    problems = {row["run_id"]: row["problem"] for row in rows}
    assert problems["first-try2"] is None
    assert problems["first-try1"] == "REPORT_MISSING", "a run that was killed has its row"
    report = read_report(path)
    assert report.account.read == sum(counts.values())
    [extra] = installed.published(PIPELINE)
    assert extra["table_version"] == report.table_version
    assert extra["account"]["rows_out"] == len(installed.scene.table())
    assert extra["account"]["unaccounted"] == 0
    assert installed.shown(PIPELINE) == len(installed.scene.table())


def test_a_critical_check_that_fails_publishes_nothing_and_nothing_is_tried_again(installed, first):
    """As a group in a DAG of one's own, whose task behind it does not run."""
    states = installed.api.tasks(OWN, "first")
    tasks = ("success", "success", "failed", "success", "upstream_failed")
    assert states == in_the_group(*tasks) | {"mart": "upstream_failed"}
    assert installed.published(REFUSED) == []
    tries = {task: installed.tries(OWN, "first", task) for task in states}
    assert tries == in_the_group(1, 1, 1, 1, 0) | {"mart": 0}
    counts, _, _ = first
    [path] = (installed.other / "reports" / REFUSED).glob("*.json")
    report = read_report(path)
    assert report.problem.code == CheckFailed.code
    assert (report.account.read, report.account.unaccounted) == (sum(counts.values()), 0)
    rows = rows_of(installed.other / "tables" / REFUSED)
    assert len(rows) == report.account.rows_out > 0, "they are written, for whoever looks why"
    exact = installed.scene.table()  # of the same topic
    assert_same(comparable(rows), comparable(exact), "rows")
    assert not (installed.other / "published" / REFUSED).exists(), "and no consumer sees them"
    [told] = [line for line in installed.api.errors(OWN, "first") if "CHECK_FAILED" in line]
    assert "expect_column_values_to_be_between(flights)" in told


def in_the_group(*values):
    return {f"{REFUSED}.{task}": value for task, value in zip(TASKS, values, strict=True)}


def test_each_of_two_dags_writes_into_the_root_of_its_pipeline_and_nothing_into_the_other(
    installed, first
):
    for own, other in ((PIPELINE, REFUSED), (REFUSED, PIPELINE)):
        root = installed.root_of(own)
        assert not [path for path in root.rglob("*") if path.name == other]
        assert {row["pipeline"] for row in told(UPath(root), "runs")} == {own}


def test_lineage_and_metrics_tell_what_the_reports_say(installed, first):
    lineage, metrics = installed.lineage, installed.metrics.lines()
    assert [said for event in lineage.events for said in problems(event)] == []
    refused = f"{OWN}.{REFUSED}"
    for pipeline, job in ((PIPELINE, PIPELINE), (REFUSED, refused)):
        [path] = (installed.root_of(pipeline) / "reports" / pipeline).glob("*.json")
        report = read_report(path)
        [drained] = lineage.of(f"{job}.drain", "COMPLETE")
        [topic] = drained["inputs"]
        assert topic["namespace"] == f"kafka://{os.environ['SLUICE_KAFKA']}"
        offsets = topic["inputFacets"]["sluice_offsets"]
        assert (offsets["start"], offsets["end"]) == (report.offsets_start, report.offsets_end)
        table = drained["outputs"][0]
        assert table["name"] == str(installed.root_of(pipeline) / "tables" / pipeline)
        assert table["facets"]["version"]["datasetVersion"] == str(report.table_version)
        [checked] = lineage.of(f"{job}.check_output", "COMPLETE", "FAIL")
        [judged] = checked["inputs"]
        assertions = judged["inputFacets"]["dataQualityAssertions"]["assertions"]
        results = [check for check in report.checks if check.suite == "output"]
        assert [(said["name"], said["success"]) for said in assertions] == [
            (check.name, check.outcome == "passed") for check in results
        ]
        name = f"airflow.sluice.{pipeline}.drain"
        assert metrics[f"{name}.read"] == [f"{report.account.read}|c"], "once for both tries"
        assert metrics[f"{name}.rows_out"] == [f"{report.account.rows_out}|c"]
        assert metrics[f"{name}.state_rows"] == [f"{report.state.rows}|g"]
    assert len(lineage.of(f"{PIPELINE}.drain", "FAIL")) == 1, "the try that was killed"
    assert lineage.of(f"{refused}.check_output", "FAIL")
    assert [*metrics[f"airflow.sluice.{PIPELINE}.publish.published"]] == ["1|c"]
    assert not lineage.of(f"{refused}.publish")


@held
def test_a_run_that_finds_nothing_to_do_starts_no_jvm_and_publishes_nothing_again(installed, first):
    api = installed.api
    api.trigger(PIPELINE, "second")
    assert api.wait("second", [PIPELINE], list[str]().append, seconds=PATIENCE_SECONDS) == {
        PIPELINE: "success"
    }

    states = api.tasks(PIPELINE, "second")
    assert states.pop("plan") == "success"
    assert set(states.values()) == {"skipped"}
    assert len(installed.published(PIPELINE)) == 1


@held
def test_what_a_person_accepts_is_published_by_the_next_run_which_drains_nothing(installed, first):
    name = "expect_column_values_to_be_between(flights)"
    api = installed.api
    api.trigger(ACCEPT, "decision", checks=[name], reason="a test")
    decided = api.wait("decision", [ACCEPT], list[str]().append, seconds=PATIENCE_SECONDS)
    assert decided == {ACCEPT: "success"}, api.errors(ACCEPT, "decision")

    api.trigger(OWN, "accepted")
    states = api.wait("accepted", [OWN], list[str]().append, seconds=PATIENCE_SECONDS)
    assert states == {OWN: "success"}, api.errors(OWN, "accepted")
    tasks = ("success", "skipped", "skipped", "skipped", "success")
    assert api.tasks(OWN, "accepted") == in_the_group(*tasks) | {"mart": "success"}
    [extra] = installed.published(REFUSED)
    [decision] = extra["decisions"]
    assert (decision["check"], decision["reason"]) == (name, "a test")
    assert USER in decision["by"], "whoever was logged in"
    assert extra["account"]["read"] == installed.scene.ledger.num_rows
    assert installed.shown(REFUSED) == extra["account"]["rows_out"] > 0
