"""The tasks of a backfill DAG: what a run asks for, the way to Spark, the checks of staged rows."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pendulum
import pytest
from airflow.sdk import DAG

from sluice_airflow.dags.backfill_dag import build_backfill
from sluice_airflow.tasks.form import request_of
from sluice_airflow.tasks.publish import asset_of, days_of, events_of
from spark_jobs.errors import (
    ChangeUnexplained,
    CheckBroken,
    CheckFailed,
    RangeInvalid,
    ReportMissing,
)
from spark_jobs.messages.job import Stage, read
from spark_jobs.messages.report import CheckResult, Report
from spark_jobs.registry import find as registry
from spark_jobs.storage.root.paths import local_report_path
from spark_jobs.values.spans import Span
from tests.airflow.installed import Installed, executed
from tests.harness import roots
from tests.harness.refused import fails, has

NAME = "departure_delays"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = pendulum.datetime(2013, 2, 1), pendulum.datetime(2013, 2, 2)
REPAIR_ID = "20260301T120000-abcdef"
pytestmark = pytest.mark.usefixtures("in_task")


@pytest.fixture(scope="module")
def dag() -> DAG:
    return build_backfill(registry.load(NAME))


def asked(run_type: str, who: str | None = "ada", **filled_in: Any) -> Any:
    """The context of a DAG run with these fields filled in; the others as the form sends them."""
    params = {"kind": "repair", "from": None, "to": None, "approve": None, "reason": None}
    return {
        "dag_run": SimpleNamespace(run_type=run_type, triggering_user_name=who),
        "params": {**params, "note": None, "most_records": 1000, **filled_in},
        "data_interval_start": DAY[0],
        "data_interval_end": DAY[1],
    }


class TestRequest:
    @pytest.mark.parametrize(
        ("kind", "becomes"),
        [
            ("repair", "backfill"),
            ("backfill", "backfill"),
            ("verify", "verify"),
            ("replay", "replay"),
        ],
    )
    def test_a_run_of_a_backfill_has_the_range_of_its_data_interval(self, kind, becomes):
        request = request_of(asked("backfill", kind=kind, note="why"))
        assert (request.kind, request.span) == (becomes, Span(*DAY))
        assert (request.who, request.note, request.most_records) == ("ada", "why", 1000)

    def test_its_range_is_not_that_of_the_form(self):
        form = {"from": "2012-01-01T00:00Z", "to": "2012-01-02T00:00Z"}
        assert request_of(asked("backfill", **form)).span == Span(*DAY)

    @pytest.mark.parametrize("run_type", ["manual", "operator_triggered"])
    def test_any_other_run_has_kind_and_range_from_the_form_alone(self, run_type):
        """Airflow gives a manual run the data interval of yesterday."""
        request = request_of(asked(run_type, who=None))
        assert (request.kind, request.span, request.who) == ("repair", None, "Airflow")
        form = {"kind": "backfill", "from": "2012-01-01T00:00Z", "to": "2012-01-02T00:00Z"}
        assert request_of(asked(run_type, **form)).span.start == datetime(2012, 1, 1, tzinfo=UTC)

    def test_a_replay_has_its_reason_from_the_form_and_finds_its_ranges(self):
        request = request_of(asked("manual", kind="replay", reason="required field"))
        assert (request.kind, request.reason, request.span) == ("replay", "required field", None)
        with fails(RangeInvalid, "fields_refused"):
            request_of(asked("manual", reason="required field"))

    def test_what_the_forms_schema_cannot_say_is_refused_by_the_plan(self):
        with fails(RangeInvalid, "fields_refused"):
            request_of(asked("manual", kind="backfill"))
        with fails(RangeInvalid, "rebuild_by_backfill"):
            request_of(asked("backfill", kind="rebuild"))
        with fails(RangeInvalid, "fields_refused", fields="form"):
            request_of(asked("manual", form="2012-01-01"))


class TestDag:
    def test_its_tasks_are_in_this_order(self, dag):
        assert {task.task_id: task.downstream_task_ids for task in dag.tasks} == {
            "plan": {"stage"}, "stage": {"check_output", "check_change"},
            "check_output": {"approve"}, "check_change": {"approve"}, "approve": {"swap"},
            "swap": {"publish"}, "publish": set(),
        }  # fmt: skip

    def test_it_runs_once_at_a_time_and_never_by_itself(self, dag):
        assert (dag.max_active_runs, dag.catchup, dag.is_paused_upon_creation) == (1, False, False)
        assert dag.timetable.can_be_scheduled is False
        assert {str(kind.value) for kind in dag.allowed_run_types or ()} == {
            "manual",
            "operator_triggered",
            "backfill",
        }
        assert dag.tags == {"sluice backfill"}

    def test_a_swap_waits_ten_minutes_for_a_drain_and_not_for_stale_rows(self, dag):
        swap = dag.get_task("swap")
        assert swap.retries * swap.retry_delay == timedelta(minutes=10)

    def test_the_asset_is_told_by_an_alias_so_that_one_dag_alone_makes_it(self, dag):
        publish = dag.get_task("publish")
        assert publish.outlets == [events_of(NAME), days_of(NAME)]
        assert publish.inlets == [asset_of(NAME)]

    def test_its_page_explains_both_ways_and_who_approves(self, dag):
        page = dag.doc_md or ""
        for said in ("Trigger > Backfill", "a run for each day", "RANGE_OPEN", "**verify**"):
            assert said in page
        assert "**Approval**: if rows change that no late or replayed record explains" in page


@pytest.fixture
def installation(tmp_path, monkeypatch) -> Installed:
    return Installed(tmp_path, monkeypatch)


def run(task: Any, handed_over: dict[str, Any], **context: Any) -> Any:
    return executed(task, lambda *, task_ids: handed_over.get(task_ids), **context)


def report(*checks: CheckResult, **more: Any) -> Report:
    return roots.report(NAME, "manual__1-repair-try1", checks=checks, **more)


def check(outcome: str, column: str = "unexplained", suite: str = "change") -> CheckResult:
    kind = "expect_column_values_to_be_between"
    return roots.check(outcome, column, suite=suite, type=kind, unexpected=1, observed="3")


PLANNED: dict[str, Any] = {"repair_id": REPAIR_ID, "kind": "repair", "offsets": 5_000_000}


class TestStage:
    def test_submits_the_planned_repair_and_hands_its_report_over(self, installation, dag):
        installation.spark_reports(report(check("passed")))
        assert run(dag.get_task("stage"), {"plan": PLANNED})["checks"][0]["suite"] == "change"
        words = installation.called.read_text().splitlines()
        assert read(words[-1:]) == Stage(
            pipeline=NAME, kind=PLANNED["kind"], repair_id=REPAIR_ID,
            report=str(local_report_path(str(installation.root), NAME, "manual__1-repair-try1")), run_id="manual__1-repair-try1",
        )  # fmt: skip
        assert "-XX:TieredStopAtLevel=1" not in words, "for so many records"

    def test_fails_without_a_plan_before_it_starts_spark(self, installation, dag):
        installation.spark_reports(report())
        with fails(ReportMissing, "no_plan"):
            run(dag.get_task("stage"), {})
        assert not installation.called.exists()


class TestChecks:
    def test_rows_that_nothing_explains_have_an_error_of_their_own(self, dag):
        staged = {"stage": report(check("failed")).model_dump(mode="json")}
        unexplained = has("(unexplained) (3)")
        with fails(ChangeUnexplained, "rows_unexplained", failed=unexplained):
            run(dag.get_task("check_change"), staged)
        assert run(dag.get_task("check_output"), staged) == {"passed": 0, "failed": 0}

    def test_another_check_that_fails_says_that_the_table_is_as_it_was(self, dag):
        failed = check("failed", "flights", "output")
        with fails(CheckFailed, "staged_failed"):
            run(dag.get_task("check_output"), {"stage": report(failed).model_dump(mode="json")})

    def test_one_that_could_not_be_evaluated_is_broken(self, dag):
        staged = {"stage": report(check("broken")).model_dump(mode="json")}
        with pytest.raises(CheckBroken):
            run(dag.get_task("check_change"), staged)

    def test_without_a_report_they_name_the_task_to_clear(self, dag):
        with fails(ReportMissing, "task_left_no_report"):
            run(dag.get_task("check_change"), {})


class TestSwap:
    def test_a_verify_changes_nothing_and_its_run_ends_there(self, dag):
        from airflow.sdk.exceptions import AirflowSkipException  # noqa: PLC0415

        asked = {"plan": {"repair_id": REPAIR_ID, "kind": "verify"}}
        assert run(dag.get_task("approve"), asked) is None, "its staging has no manifest"
        with pytest.raises(AirflowSkipException, match="a verify changes nothing"):
            run(dag.get_task("swap"), {"plan": {"repair_id": REPAIR_ID, "kind": "verify"}})
