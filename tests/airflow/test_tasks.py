"""The tasks, as Airflow's task runner executes them, with a spark-submit of the test's."""

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from airflow.sdk.definitions.asset import AssetUniqueKey
from airflow.sdk.exceptions import AirflowSkipException, AirflowTaskTimeout, DownstreamTasksSkipped
from airflow.sdk.execution_time.context import OutletEventAccessors
from airflow.sdk.execution_time.timeout import timeout

from sluice_airflow.dags import dag as dags
from sluice_airflow.dags.backfill_dag import build_backfill
from sluice_airflow.dags.maintain import maintain_dag
from sluice_airflow.tasks.operators import DrainOperator
from sluice_airflow.tasks.publish import asset_of, days_of, events_of
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.errors import (
    CheckBroken,
    CheckFailed,
    ConnectionMissing,
    JarsMissing,
    KafkaUnreachable,
    LeaseHeld,
    ReportMissing,
    SettingInvalid,
    SluiceError,
    StateIncompatible,
)
from spark_jobs.messages.job import Drain
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import CheckResult, Problem, Report
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.runs import plan as planning
from spark_jobs.runs.plan import Plan
from spark_jobs.runs.publish import publication
from spark_jobs.runs.run_record import append_row
from spark_jobs.source import topic_state
from spark_jobs.storage.root.paths import Paths, local_report_path
from tests.airflow.installed import Installed, executed
from tests.harness import roots
from tests.harness.patience import patient
from tests.harness.process import lives
from tests.harness.refused import fails, has
from tests.harness.roots import ROOT
from tests.unit.specs import OURS, deployed

NAME = "flight_events"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PATIENCE_SECONDS = patient(60)
pytestmark = pytest.mark.usefixtures("in_task")


class Events(list[Any]):
    """An asset's events as Airflow's context has them, asked for the newest."""

    def ascending(self, ascending: bool) -> "Events":
        assert not ascending
        return self

    def limit(self, limit: int) -> "Events":
        return Events(self[-limit:])


class Installation(Installed):
    """And the DAG of its pipeline."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, root: str = ROOT):
        super().__init__(folder, monkeypatch, root)
        self.announced: list[Any] = []
        self.dag = dags.build(registry.load(NAME))
        self.report = local_report_path(str(self.root), NAME, "manual__1-try1")

    def run(self, task: str, handed_over: Any = None, try_number: int = 1, **context: Any) -> Any:
        events = {"inlet_events": {asset_of(NAME): Events(self.announced)}}
        operator = self.dag.get_task(task)
        return executed(operator, lambda **_: handed_over, try_number, **events | context)

    def rows(self) -> dict[str, str | None]:
        """The run ids in ops.runs, each with its problem."""
        found = ops_tables.query(
            Paths(str(self.root), registry.load(NAME)).root,
            "runs",
            f"SELECT run_id, problem FROM runs WHERE pipeline = '{NAME}' AND status = 'failed'",
        ).to_pylist()
        rows = {row["run_id"]: row["problem"] for row in found}
        assert len(rows) == len(found), "a run has two rows"
        return rows


def connection(host: str, **more: Any) -> str:
    return json.dumps({"conn_type": "spark", "host": host, **more})


@pytest.fixture
def installation(tmp_path, monkeypatch) -> Installation:
    return Installation(tmp_path, monkeypatch)


def report(problem: SluiceError | None = None, *checks: CheckResult) -> Report:
    return roots.report(
        NAME,
        "manual__1-try1",
        Problem.of(problem) if problem else None,
        checks=checks,
        table_version=7,
        watermark=NOON,
        offsets_end={"0": 10},
        account=Account(covered=10, read=10, accepted=9, malformed=1, rows_out=9),
    )


def check(outcome: str, severity: str = "critical", suite: str = "output") -> CheckResult:
    of_this = {"type": "expect_column_values_to_be_unique", "sample": '["a", "b"]'}
    return roots.check(outcome, "event_id", suite=suite, severity=severity, unexpected=3, **of_this)


class TestPlan:
    @pytest.mark.parametrize(("to_publish", "left"), [(None, set()), (7, {"publish"})])
    def test_skips_later_tasks_without_anything_to_do(
        self, installation, monkeypatch, to_publish, left
    ):
        """A run was killed after its checks, or somebody drained or accepted: publish has work."""
        nothing = Plan(pipeline=NAME, new_offsets=0, reasons=(), to_publish=to_publish, lines=())
        monkeypatch.setattr(planning, "plan", lambda *_: nothing)
        with pytest.raises(DownstreamTasksSkipped) as skipped:
            installation.run("plan")
        assert {*skipped.value.tasks} == {"drain", "check_output", "check_state", "publish"} - left

    def test_lets_the_run_go_on_and_says_why_when_there_is_something(
        self, installation, monkeypatch
    ):
        work = Plan(pipeline=NAME, new_offsets=5, reasons=("5 new offsets to read",), lines=())
        monkeypatch.setattr(planning, "plan", lambda *_: work)
        assert installation.run("plan")["new_offsets"] == 5

    def test_fails_with_sluices_own_error_when_no_broker_answers(self, installation, monkeypatch):
        monkeypatch.setattr(topic_state, "TIMEOUT_SECONDS", 0.5)
        with pytest.raises(KafkaUnreachable):
            installation.run("plan")

    def test_that_is_refused_has_one_row_in_ops_runs_for_all_its_tries(
        self, installation, monkeypatch
    ):
        monkeypatch.setattr(topic_state, "TIMEOUT_SECONDS", 0.5)
        for number in (1, 2, 3):
            assert installation.rows() == {}
            with pytest.raises(KafkaUnreachable):
                installation.run("plan", try_number=number)
        assert installation.rows() == {"manual__1-try3": "KAFKA_UNREACHABLE"}

    def test_that_is_refused_for_good_has_its_row_at_once(self, installation, monkeypatch):
        def plan(*_: object) -> Plan:
            raise StateIncompatible("keys changed.", "Revert.")

        monkeypatch.setattr(planning, "plan", plan)
        with pytest.raises(StateIncompatible):
            installation.run("plan")
        assert installation.rows() == {"manual__1-try1": "STATE_INCOMPATIBLE"}


class TestDrain:
    @pytest.mark.parametrize(
        ("planned", "first_compiler_only"), [(None, True), (1000, True), (5_000_000, False)]
    )
    def test_the_jvm_compiles_for_as_many_records_as_plan_has_counted(
        self, installation, planned, first_compiler_only
    ):
        installation.spark_reports(report())
        installation.run("drain", handed_over={"new_offsets": planned} if planned else None)
        assert ("-XX:TieredStopAtLevel=1" in installation.called.read_text()) == first_compiler_only

    @pytest.mark.parametrize(
        "connection",
        [
            None,
            '{"conn_type": "http", "host": "local[2]"}',
            '{"conn_type": "spark"}',
            '{"conn_type": "spark", "host": ""}',
        ],
    )
    def test_without_a_connection_to_spark_nothing_is_submitted_to_anyone(
        self, installation, monkeypatch, connection
    ):
        monkeypatch.delenv("AIRFLOW_CONN_SLUICE_SPARK")
        if connection is not None:
            monkeypatch.setenv("AIRFLOW_CONN_SLUICE_SPARK", connection)
        installation.spark_reports(report())
        with fails(ConnectionMissing, "no_master" if connection else "connection_absent"):
            installation.run("drain")
        assert not installation.called.exists()

    def test_its_connections_options_reach_spark_before_the_roots(self, installation, monkeypatch):
        monkeypatch.setenv("SLUICE_SPARK_CONF", "spark.executor.memory=1g spark.cores.max=8")
        extra = {"conf": {"spark.executor.memory": "2g", "spark.speculation": True}}
        given = connection("master.example", port=7077, extra=extra)
        monkeypatch.setenv("AIRFLOW_CONN_SLUICE_SPARK", given)
        plain = str(installation.root.with_name("root"))  # on a cluster an odd one is refused
        monkeypatch.setenv("SLUICE_ROOT", plain)
        installation.report = local_report_path(plain, NAME, "manual__1-try1")
        installation.spark_reports(report())
        installation.run("drain")
        words = installation.called.read_text().split()
        assert words[words.index("--master") + 1] == "spark://master.example:7077"
        assert {"spark.executor.memory=2g", "spark.cores.max=8", "spark.speculation=true"} <= set(
            words
        )
        assert any(word.startswith("spark.archives=") for word in words)

    def test_an_option_of_sluices_is_refused_by_its_name_before_spark(
        self, installation, monkeypatch
    ):
        extra = {"conf": {"spark.executor.extraClassPath": "/x"}}
        monkeypatch.setenv("AIRFLOW_CONN_SLUICE_SPARK", connection("local[2]", extra=extra))
        installation.spark_reports(report())
        source = "connection 'sluice_spark': conf in its extra"
        with fails(SettingInvalid, "option_refused", source=source):
            installation.run("drain")
        assert not installation.called.exists()

    def test_options_that_are_no_object_are_refused_and_not_shown(self, installation, monkeypatch):
        extra = {"conf": "spark.my.password=canary"}
        monkeypatch.setenv("AIRFLOW_CONN_SLUICE_SPARK", connection("local[2]", extra=extra))
        installation.spark_reports(report())
        with fails(SettingInvalid, "conf_no_object") as refused:
            installation.run("drain")
        assert "canary" not in str(refused.value)

    def test_is_submitted_in_client_mode_to_the_connections_master_with_the_pipeline_and_the_path_of_the_report(
        self, installation
    ):
        installation.spark_reports(report())
        installation.run("drain")
        words = installation.called.read_text().split()
        assert words[words.index("--master") + 1] == "local[2]"
        assert words[words.index("--deploy-mode") + 1] == "client"
        job = Drain(pipeline=NAME, report=str(installation.report), run_id="manual__1-try1")
        assert installation.jobs == [job.model_dump_json()]

    def test_two_pipelines_of_one_airflow_are_submitted_with_the_root_that_each_names(
        self, installation, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("SLUICE_ROOT__EU", str(tmp_path / "eu"))
        installation.spark_does(f'echo "$SLUICE_ROOT" >>{tmp_path}/given')
        for name, more in (("sales_hourly", ""), ("eu_sales", "name='eu_sales', root='eu'")):
            deployed(tmp_path, monkeypatch, OURS.replace("pipeline()", f"pipeline({more})"), name)
            with pytest.raises(ReportMissing):
                executed(DrainOperator(task_id="drain", pipeline=name))
        both = [str(installation.root), str(tmp_path / "eu")]
        assert (tmp_path / "given").read_text().splitlines() == both
        assert [
            json.loads(job)["report"].startswith(root)
            for job, root in zip(installation.jobs, both, strict=True)
        ] == [True, True]
        rows = [roots.told(Path(root), "runs", "pipeline, problem") for root in both]
        problem = {"problem": "REPORT_MISSING"}
        assert rows == [[{"pipeline": name} | problem] for name in ("sales_hourly", "eu_sales")]

    def test_hands_over_its_report(self, installation):
        installation.spark_reports(report())
        assert Report.model_validate(installation.run("drain")) == report()

    def test_is_believed_when_it_reports_success_and_its_process_ended_badly(self, installation):
        installation.spark_reports(report(), 1)
        assert installation.run("drain")["status"] == "succeeded"

    def test_has_a_folder_for_sparks_files_that_its_user_alone_may_enter(
        self, installation, tmp_path
    ):
        seen = tmp_path / "seen"
        installation.spark_does(f"stat -c '%a %n' \"$SPARK_LOCAL_DIRS\" >'{seen}'")
        with pytest.raises(ReportMissing):
            installation.run("drain")
        mode, _, folder = seen.read_text().strip().partition(" ")
        assert mode == "700"
        assert not Path(folder).exists(), "it goes with the task"

    def test_has_failed_without_a_report_though_its_process_ended_well(self, installation):
        installation.spark_does("exit 0")
        with pytest.raises(ReportMissing):
            installation.run("drain")
        assert installation.rows() == {"manual__1-try1": "REPORT_MISSING"}

    def test_whose_driver_has_written_the_row_in_ops_runs_writes_no_second(self, installation):
        problem = StateIncompatible("keys changed.", "Revert.")
        ended = {"ended_at": datetime.now(UTC) + timedelta(hours=1)}
        after = report(problem).model_copy(update=ended)
        append_row(after, str(installation.root))
        installation.spark_reports(after, problem.exit_status)
        with pytest.raises(StateIncompatible):
            installation.run("drain")
        assert installation.rows() == {"manual__1-try1": "STATE_INCOMPATIBLE"}

    def test_does_not_take_an_older_report_for_its_own(self, installation):
        report().write(installation.report)
        installation.spark_does("exit 1")
        with pytest.raises(ReportMissing):
            installation.run("drain")

    def test_fails_with_the_error_of_its_report_and_nothing_behind_it(self, installation):
        installation.spark_reports(
            report(StateIncompatible("keys changed.", "Revert.")), StateIncompatible.exit_status
        )
        with pytest.raises(StateIncompatible) as raised:
            installation.run("drain")
        assert raised.value.args[:2] == ("keys changed.", "Revert.")
        assert raised.value.__cause__ is None
        assert raised.value.__suppress_context__

    @pytest.mark.parametrize("judgement", [CheckFailed("3 rows."), CheckBroken("no such column.")])
    def test_leaves_it_to_the_check_tasks_to_fail_when_only_a_check_did(
        self, installation, judgement
    ):
        installation.spark_reports(report(judgement, check("failed")), judgement.exit_status)
        assert installation.run("drain")["problem"]["code"] == judgement.code

    def test_submits_nothing_without_the_jars(self, installation, tmp_path):
        installation.spark_reports(report())
        (tmp_path / "jars" / "spark" / "delta-spark_0.jar").unlink()
        with pytest.raises(JarsMissing):
            installation.run("drain")
        assert not installation.called.exists()

    def test_ends_spark_and_all_that_it_started_when_its_task_is_killed(
        self, installation, tmp_path
    ):
        pids = tmp_path / "pids"
        # A driver that takes no notice of SIGTERM, and a worker in a session of its own, as
        # PySpark's daemon nearly is.
        installation.spark_does(
            f"sh -c 'trap \"\" TERM; echo $$ >>{pids}; while :; do sleep 0.1; done' &",
            f"setsid sh -c 'echo $$ >>{pids}; sleep 60' &",
            f"echo $$ >>{pids}",
            "wait",
        )
        with ThreadPoolExecutor(1) as beside:
            task = beside.submit(installation.run, "drain")
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not pids.exists() or len(pids.read_text().split()) < 3:
                assert not task.done(), task.exception()
                assert time.monotonic() < deadline, "spark-submit has not started its processes"
                time.sleep(0.02)
            installation.dag.get_task("drain").on_kill()
            assert type(task.exception(PATIENCE_SECONDS)) is ReportMissing
        assert [pid for pid in map(int, pids.read_text().split()) if lives(pid)] == []

    def test_sparks_folder_stays_until_its_processes_have_ended_where_the_task_takes_too_long(
        self, installation, tmp_path
    ):
        """Airflow raises within the task, and kills it behind that: state would be written into
        half a folder."""
        installation.spark_does(
            "exec >/dev/null 2>&1",
            f"trap 'test -d \"$SPARK_LOCAL_DIRS\"; echo $? >{tmp_path / 'ended'}; exit' TERM",
            "sleep 0.3; kill -ALRM $PPID",  # the time is over
            "while :; do sleep 0.1; done",
        )
        task = installation.dag.get_task("drain")
        with pytest.raises(AirflowTaskTimeout), timeout(PATIENCE_SECONDS):
            installation.run("drain")
        task.on_kill()
        task.submission.hook._submit_sp.wait()  # noqa: SLF001 - or Python warns
        assert (tmp_path / "ended").read_text().split() == ["0"]

    def test_gives_spark_the_lock_of_its_folder_which_another_start_would_sweep_once_it_is_free(
        self, installation, tmp_path
    ):
        """The task may be killed before Spark's JVM, which ends its batch first."""
        installation.spark_does(
            f'cd "$SPARK_LOCAL_DIRS" && readlink /proc/$$/fd/* >{tmp_path / "open"}',
            f'echo "$SLUICE_RUN_SCRATCH" >{tmp_path / "folders"}',
        )
        with fails(ReportMissing, "no_report"):
            installation.run("drain")
        folder = (tmp_path / "folders").read_text().strip()
        assert f"{folder}.lock" in (tmp_path / "open").read_text().split()

    def test_that_has_not_begun_can_be_killed(self, installation):
        installation.dag.get_task("drain").on_kill()


class TestChecks:
    @pytest.mark.parametrize(
        ("suite", "other", "reason"),
        [("output", "state", "rows_failed"), ("state", "output", "state_failed")],
    )
    def test_fail_on_a_critical_failure_of_their_own_suite_only(
        self, installation, suite, other, reason
    ):
        drained = report(
            CheckFailed("x"), check("failed", suite=suite), check("passed", suite=other)
        ).model_dump(mode="json")
        name = has("expect_column_values_to_be_unique(event_id)")
        with fails(CheckFailed, reason, failed=name):
            installation.run(f"check_{suite}", drained)
        assert installation.run(f"check_{other}", drained) == {"passed": 1, "failed": 0}

    @pytest.mark.parametrize("severity", ["warning", "info"])
    def test_show_a_warning_and_pass(self, installation, severity):
        drained = report(None, check("failed", severity), check("passed")).model_dump(mode="json")
        assert installation.run("check_output", drained) == {"passed": 1, "failed": 1}

    def test_call_a_check_that_could_not_be_evaluated_broken_and_not_failed(self, installation):
        drained = report(CheckBroken("x"), check("broken"), check("failed")).model_dump(mode="json")
        with pytest.raises(CheckBroken):
            installation.run("check_output", drained)

    def test_fail_when_nothing_was_handed_over(self, installation):
        with pytest.raises(ReportMissing):
            installation.run("check_output", None)


class TestPublish:
    @pytest.fixture(autouse=True)
    def passed(self, installation) -> Paths:
        """One batch whose rows passed their checks at version 7."""
        paths = Paths(str(installation.root), registry.load(NAME))
        paths.ensure_writable()
        Identity(generation="g", topic_id="t", fingerprint={}).write(paths.identity)
        Cursor(audited=0, judged=0, judged_table_version=7).write(paths.cursor)
        for version in range(9):  # a row each; the last is not judged yet
            rows = pa.table({"number": [version]})
            deltalake.write_deltalake(str(paths.table), rows, mode="append")
        account = Account(covered=10, read=10, accepted=9, malformed=1, rows_out=9)
        row = {
            "pipeline": NAME, "generation": "g", "batch_id": 0, "run_id": "manual__1-try1",
            "watermark": NOON, "offsets_end": '{"0": 10}',
        }  # fmt: skip
        ops_tables.append(paths.root, "batches", [row | account.row()])
        return paths

    def told(self, installation: Installation) -> list[dict[str, Any]]:
        """The events, in the order in which Airflow registers them."""
        emitted = OutletEventAccessors()
        installation.run("publish", outlet_events=emitted)
        further = emitted[events_of(NAME)].asset_alias_events
        told = [emitted[asset_of(NAME)].extra, *(each.extra for each in further)]
        installation.announced += [SimpleNamespace(extra=extra) for extra in told]
        return told

    def publish(self, installation: Installation) -> dict[str, Any]:
        [told] = self.told(installation)
        return told

    def test_tells_the_version_to_read_and_what_it_was_made_from(self, installation):
        told = self.publish(installation)
        assert told["table"] == str(installation.root / "tables" / NAME)
        assert told["published_table"] == str(installation.root / "published" / NAME)
        assert (told["pipeline"], told["run_id"], told["table_version"]) == (
            NAME,
            "manual__1-try1",
            7,
        )
        assert (told["watermark"], told["offsets_end"]) == ("2026-03-01T12:00:00Z", {"0": 10})
        assert told["account"]["rows_out"] == 9

    def test_tells_it_once(self, installation):
        self.publish(installation)
        with pytest.raises(AirflowSkipException, match="consumers know"):
            self.publish(installation)

    def test_tells_it_again_where_the_event_was_lost_with_the_task(self, installation):
        installation.announced.append(SimpleNamespace(extra={"table_version": 3}))
        told = self.publish(installation)
        installation.announced.pop()
        assert self.publish(installation) == told

    def test_looks_past_the_events_that_a_person_has_sent(self, installation):
        self.publish(installation)
        installation.announced.append(SimpleNamespace(extra={"note": "by hand"}))
        with pytest.raises(AirflowSkipException, match="consumers know"):
            self.publish(installation)

    def test_tells_a_lost_event_alike_and_behind_it_the_verdict_that_overtook_it(
        self, installation, passed
    ):
        lost = self.publish(installation)
        installation.announced.pop()
        Cursor(audited=0, judged=0, judged_table_version=8).write(passed.cursor)
        first, told = self.told(installation)
        assert first == lost
        assert (told["number"], told["table_version_before"], told["table_version"]) == (2, 7, 8)

    def test_goes_by_the_highest_number_as_two_dags_tell_in_any_order(self, installation, passed):
        self.publish(installation)
        Cursor(audited=0, judged=0, judged_table_version=8).write(passed.cursor)
        self.publish(installation)
        installation.announced.reverse()  # the backfill DAG told the first once more
        with pytest.raises(AirflowSkipException, match="consumers know"):
            self.publish(installation)

    def test_moves_the_published_table_to_the_judged_rows_and_no_others(self, installation):
        told = self.publish(installation)
        shown = deltalake.DeltaTable(told["published_table"]).to_pyarrow_table()
        assert sorted(shown["number"].to_pylist()) == list(range(8))

    def test_moves_the_table_without_an_event_of_what_consumers_know(self, installation, passed):
        """A root from before there were published tables."""
        self.publish(installation)
        shutil.rmtree(str(passed.published_table))
        assert publication.to_publish(passed, registry.load(NAME)) == 7
        with pytest.raises(AirflowSkipException, match="consumers know"):
            self.publish(installation)
        assert publication.to_publish(passed, registry.load(NAME)) is None

    def test_needs_no_kafka_to_tell_of_what_has_passed_its_checks(self, installation, monkeypatch):
        monkeypatch.setenv("AIRFLOW_CONN_SLUICE_KAFKA", '{"conn_type": "http"}')
        monkeypatch.setenv("SLUICE_KAFKA_CONFIG", "/nowhere")
        monkeypatch.delenv("SLUICE_KAFKA")
        drained = report(None, check("passed"), check("passed", suite="state"))
        for suite in ("output", "state"):
            assert (
                installation.run(f"check_{suite}", drained.model_dump(mode="json"))["passed"] == 1
            )
        assert self.publish(installation)["table_version"] == 7

    def test_tells_by_an_alias_where_the_asset_is_another_dags_outlet(self, installation):
        installation.dag = build_backfill(registry.load(NAME))
        events = OutletEventAccessors()
        installation.run("publish", outlet_events=events)
        [event] = events[events_of(NAME)].asset_alias_events
        assert event.dest_asset_key == AssetUniqueKey.from_asset(asset_of(NAME))
        assert (event.extra["table_version"], event.extra["repairs"]) == (7, [])

    def test_emits_for_an_asset_that_carries_the_pipelines_name(self, installation):
        outlets = installation.dag.get_task("publish").outlets
        assert outlets == [asset_of(NAME), events_of(NAME), days_of(NAME)]
        assert (asset_of(NAME).name, asset_of(NAME).uri) == (NAME, f"x-sluice://tables/{NAME}")


class TestMaintain:
    def maintain(self):
        [task] = [task for task in maintain_dag("sluice").tasks if task.task_id == NAME]
        task.execute({})

    def test_does_what_the_command_does_and_waits_for_a_run(self, installation):
        paths = Paths(str(installation.root), registry.load(NAME))
        paths.ensure_writable()
        for run in ("a", "b"):
            ops_tables.append(paths.root, "runs", [{"pipeline": NAME, "run_id": run}])
        stored = str(paths.ops("runs"))
        with (
            lease(paths.lease, "a run"),
            fails(LeaseHeld, "held_by_drain", holder=has("run a run")),
        ):
            self.maintain()
        assert LeaseHeld.retry
        assert len(deltalake.DeltaTable(stored).file_uris()) == 2
        self.maintain()
        assert len(deltalake.DeltaTable(stored).file_uris()) == 1
        self.maintain()

    @pytest.mark.usefixtures("installation")
    def test_says_what_is_wrong_with_its_schedule(self, monkeypatch):
        monkeypatch.setenv("SLUICE_MAINTAIN_CRON", "weekly")
        with fails(SettingInvalid, "cron_invalid"):
            self.maintain()
