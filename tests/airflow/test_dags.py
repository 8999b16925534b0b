"""The DAG file: what Airflow finds in it, and what reading it costs."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import deltalake
import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG, CronDataIntervalTimetable
from airflow.serialization.serialized_objects import DagSerialization
from airflow.timetables.base import TimeRestriction
from pendulum import instance

from sluice_airflow import ids
from sluice_airflow.dags.all import dags as all_dags
from sluice_airflow.dags.dag import build
from sluice_airflow.dags.maintain import maintain_dag
from sluice_airflow.dags.prove import prove_dag
from sluice_airflow.ids import accepts as accept_id, backfills as backfill_id, maintains, proves
from spark_jobs.errors import PipelineUnknown, SpecInvalid
from spark_jobs.registry import find as registry
from spark_jobs.spec import Pipeline, Ranges, Schedule
from spark_jobs.spec.analysis.ranged import unranged
from tests.harness.ran import python
from tests.harness.refused import fails

REPO = Path(__file__).parents[2]
LATER = ["drain", "check_output", "check_state", "publish"]
MAINTAIN, PROVE = maintains(), proves()
BACKFILLS = [backfill_id(name) for name in registry.names()]
ACCEPTS = [accept_id(name) for name in registry.names()]


def found() -> DagBag:
    return DagBag(REPO / "dags", collect_dags=True, bundle_path=REPO / "dags", bundle_name="test")


@pytest.fixture(scope="module")
def bag() -> DagBag:
    """Of the shipped pipelines."""
    bag = found()
    assert bag.import_errors == {}
    return bag


@pytest.fixture(scope="module")
def dags(bag) -> dict[str, DAG]:
    """Those that drain."""
    others = {MAINTAIN, PROVE, *BACKFILLS, *ACCEPTS}
    return {name: dag for name, dag in bag.dags.items() if name not in others}


def test_a_dag_starts_behind_the_pipeline_that_it_follows():
    spec = registry.load("departure_delays")
    schedule = spec.schedule.model_copy(update={"after": "flight_events"})
    dag = build(spec.model_copy(update={"schedule": schedule}))
    stored = DagSerialization.to_dict(dag)["dag"]["timetable"]["__var"]
    assert "x-sluice://tables/flight_events" in str(stored["asset_condition"])
    assert "CronDataInterval" in str(stored["timetable"])


def test_every_pipeline_is_three_dags_in_one_of_which_a_person_may_accept_its_rows_alone(bag):
    assert sorted(bag.dags) == sorted([*registry.names(), *BACKFILLS, *ACCEPTS, MAINTAIN, PROVE])
    for name in registry.names():
        accept = bag.dags[accept_id(name)]
        assert accept.timetable.can_be_scheduled is False, "only a person begins it"
        assert [*accept.params] == ["checks", "reason"], "no run names another pipeline"
        [task] = accept.tasks
        assert task.pipeline == name


def test_another_maintains_every_pipeline_once_a_week_one_at_a_time(bag):
    dag = bag.dags[MAINTAIN]
    assert [task.task_id for task in dag.tasks] == registry.names()
    assert (dag.max_active_tasks, dag.max_active_runs, dag.catchup) == (1, 1, False)
    assert schedule(dag) == "17 3 * * 0"
    assert {task.retries for task in dag.tasks} == {6}, "a drain may hold the lease for long"


def test_the_archive_of_a_topic_is_a_dag_that_drains_and_is_maintained_too(monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "bench.pipelines")
    bag = found()
    assert bag.import_errors == {}
    names, archive = registry.names(), "archive__flights"
    assert backfill_id("departure_delays") in bag.dags
    others = bag.dags.keys() - {of(name) for name in names for of in (backfill_id, accept_id)}
    assert others == {*names, archive, MAINTAIN, PROVE}
    dag = bag.dags[archive]
    assert [task.task_id for task in dag.tasks] == ["plan", *LATER]
    assert schedule(dag) == "0 */6 * * *"
    assert "byte for byte" in (dag.doc_md or "")
    assert [task.task_id for task in bag.dags[MAINTAIN].tasks] == [*names, archive]


@pytest.mark.parametrize(
    ("cron", "summary"), [("30 4 1 * *", "30 4 1 * *"), ("weekly", "17 3 * * 0"), ("never", "None")]
)
def test_its_schedule_is_a_setting_and_a_wrong_one_breaks_no_dag_file(cron, summary, monkeypatch):
    monkeypatch.setenv("SLUICE_MAINTAIN_CRON", cron)
    assert schedule(maintain_dag("sluice")) == summary


def test_one_proves_the_days_of_every_pipeline_that_has_days_one_at_a_time(bag):
    dag = bag.dags[PROVE]
    assert {task.task_id for task in dag.tasks} == {*registry.names()} - {"aircraft_now"}
    assert (dag.max_active_tasks, dag.max_active_runs, dag.catchup) == (1, 1, False)
    assert all(task.on_failure_callback for task in dag.tasks), "a wrong day is told"


@pytest.mark.parametrize(
    ("share", "summary"), [("5 %", "41 1 * * *"), ("off", "None"), ("much", "None")]
)
def test_it_has_a_schedule_where_proofs_have_a_share_and_a_wrong_one_breaks_no_dag_file(
    share, summary, monkeypatch
):
    monkeypatch.setenv("SLUICE_PROOF", share)
    assert schedule(prove_dag("sluice")) == summary


def schedule(dag: DAG) -> str:
    """As Airflow's UI shows it."""
    return str(DagSerialization.from_dict(DagSerialization.to_dict(dag)).timetable.summary)


@pytest.mark.parametrize("name", registry.names())
def test_a_dag_plans_drains_judges_and_publishes_one_at_a_time_and_never_catches_up(dags, name):
    edges = {task.task_id: task.downstream_task_ids for task in dags[name].tasks}
    assert edges == {
        "plan": {"drain"}, "drain": {"check_output", "check_state"}, "check_output": {"publish"},
        "check_state": {"publish"}, "publish": set(),
    }  # fmt: skip
    assert (dags[name].max_active_runs, dags[name].catchup) == (1, False)


@pytest.mark.parametrize("name", registry.names())
def test_a_scheduled_run_has_the_interval_between_two_firings_of_its_cron(dags, name):
    assert isinstance(dags[name].timetable, CronDataIntervalTimetable)
    scheduled = DagSerialization.from_dict(DagSerialization.to_dict(dags[name])).timetable
    start = registry.load(name).schedule.start
    first = scheduled.next_dagrun_info(
        last_automated_data_interval=None,
        restriction=TimeRestriction(instance(start), None, catchup=True),
    )
    second = scheduled.next_dagrun_info(
        last_automated_data_interval=first.data_interval,
        restriction=TimeRestriction(instance(start), None, catchup=True),
    )
    assert second is not None
    assert first.data_interval.end - first.data_interval.start > timedelta(0)
    assert first.data_interval.end == second.data_interval.start


@pytest.mark.parametrize("name", registry.names())
def test_the_page_of_a_dag_says_what_the_pipeline_reads_keeps_and_checks(dags, name):
    spec = registry.load(name)
    page = dags[name].doc_md or ""
    assert spec.about in page
    ranged = unranged(spec) is None
    assert (f"The DAG `{name}__backfill` computes ranges of the table again." in page) == ranged
    assert f"`{spec.topic.name}`" in page
    assert all(f"`{check.type}(" in page for check in (*spec.output_checks, *spec.state_checks))
    assert sum(line[:2] in {f"{n}." for n in range(1, 10)} for line in page.splitlines()) == len(
        spec.steps
    )


def test_a_pipeline_without_ranges_has_a_dag_for_its_rebuild_and_both_pages_say_so(monkeypatch):
    """In complete mode each drain writes the whole result, so no range stands by itself."""
    load, names = registry.load, registry.names()
    ranges = Ranges(repair="after drain")
    complete = {"name": "whole", "output_mode": "complete", "ranges": ranges}
    monkeypatch.setattr(registry, "names", lambda: [*names, "whole"])
    monkeypatch.setattr(
        registry,
        "load",
        lambda name: (
            load("departure_delays").model_copy(update=complete) if name == "whole" else load(name)
        ),
    )
    bag = found()
    assert bag.import_errors == {}
    dag = bag.dags["whole__backfill"]
    assert "repair" not in bag.dags["whole"].task_ids
    tasks = ["plan", "stage", "check_output", "check_change", "approve", "swap", "publish"]
    assert [task.task_id for task in dag.tasks] == tasks
    assert [*dag.params] == ["kind", "note", "most_records"]
    kind = dag.params.get_param("kind")
    assert (kind.value, kind.schema["enum"]) == (None, ["rebuild"]), "a person chooses it"
    why = "in complete mode the next drain writes the whole result from its state"
    assert why in str(kind.description)
    for page in (dag.doc_md or "", bag.dags["whole"].doc_md or ""):
        assert why in page
        assert "rebuild" in page
        assert "archive of the topic is read only if" in " ".join(page.split())
    assert "Trigger > Backfill" not in (dag.doc_md or "")


def _bad_spec(name: str) -> Pipeline:
    raise SpecInvalid(f"Pipeline {name!r}: watermark_delay is None: state would grow for ever.")


def _bad_cron(name: str) -> Pipeline:
    return registry.load("flight_events").model_copy(
        update={"name": name, "schedule": Schedule(cron="99 * * * *")}
    )


def _bug(name: str) -> Pipeline:
    raise ZeroDivisionError(name)


@pytest.mark.parametrize(
    ("bad", "why"),
    [(_bad_spec, "watermark_delay is None"), (_bad_cron, "99"), (_bug, "ZeroDivisionError")],
)
def test_a_pipeline_that_is_refused_says_why_and_takes_no_other_away(monkeypatch, bad, why):
    load, names = registry.load, registry.names()
    monkeypatch.setattr(registry, "names", lambda: [*names, "refused"])
    monkeypatch.setattr(
        registry, "load", lambda name: bad(name) if name == "refused" else load(name)
    )
    bag = found()
    assert bag.import_errors == {}
    assert sorted(bag.dags) == sorted([*names, *BACKFILLS, *ACCEPTS, "refused", MAINTAIN, PROVE])
    assert [task.task_id for task in bag.dags["refused"].tasks] == ["spec"]
    assert why in (bag.dags["refused"].description or "")
    assert bag.dags["refused"].timetable.can_be_scheduled, (
        "it fails on schedule, so that somebody sees it"
    )
    assert all(len(bag.dags[name].tasks) > 1 for name in names)


@pytest.mark.parametrize(
    "error",
    [
        SpecInvalid.no_spec(pipeline="refused"),
        PipelineUnknown.archive_absent(pipeline="refused", archives="other"),
        SpecInvalid.dag_refused(why="KeyError: 'id'"),
    ],
    ids=lambda error: error.reason,
)
def test_a_refused_pipeline_fails_with_the_reason_when_it_runs_and_has_a_row_in_ops_runs(
    in_task, tmp_path, monkeypatch, error
):
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    from sluice_airflow.dags.refused import refused_dag  # noqa: PLC0415 - fixtures come first

    given = KeyError("id") if error.reason == "dag_refused" else error
    task = refused_dag("refused", given).get_task("spec")
    with fails(type(error), error.reason, **error.parameters):  # as the DAG processor has told it
        task.execute({"run_id": "scheduled__1", "ti": SimpleNamespace(try_number=1), "task": task})
    [row] = deltalake.DeltaTable(str(tmp_path / "ops" / "runs")).to_pyarrow_table().to_pylist()
    assert (row["pipeline"], row["run_id"]) == ("refused", "scheduled__1-try1")
    assert (row["status"], row["problem"]) == ("failed", error.code)


PARSE = """
import sys, time
from airflow.sdk import DAG, Asset, BaseHook, BaseOperator, CronDataIntervalTimetable
before = time.process_time()
import runpy
found = runpy.run_path("dags/sluice.py")
took = time.process_time() - before
heavy = [name for name in ("pyspark", "delta", "deltalake", "pandas", "great_expectations", "confluent_kafka", "openlineage") if name in sys.modules]
print(took, sum(isinstance(value, DAG) for value in found.values()), *heavy)
"""


def test_reading_the_dag_file_adds_less_than_half_a_second_to_airflow_and_loads_nothing_heavy():
    """CPU seconds, the best of three: what else the machine does is not the DAG file's doing."""
    took = []
    for _ in range(3):
        seconds, dags, *heavy = last_line(PARSE).split()
        assert (heavy, int(dags)) == ([], 3 * len(registry.names()) + 2)
        took.append(float(seconds))
        if min(took) < 0.5:
            return
    pytest.fail(f"seconds of the processor: {took}")


def last_line(script: str) -> str:
    """What another Python says at last."""
    env = {**os.environ, "PYTHONPATH": f"{REPO}{os.pathsep}{REPO / 'plugins'}"}
    return python(script, env=env).stdout.splitlines()[-1]


def test_airflow_reads_the_plugin_and_does_not_run_the_package_beside_it():
    script = (
        "from airflow import plugins_manager as p, settings\n"
        "settings.prepare_syspath_for_config_and_plugins()\n"
        "found, errors = p._get_plugins()\n"
        "import sys\n"
        "print([q.name for q in found if q.name == 'sluice'], errors, 'operators' in sys.modules, "
        "'checks' in sys.modules, [*p.get_timetables_plugins()])\n"
    )
    assert last_line(script) == (
        "['sluice'] {} False False ['sluice_airflow.dags.timetable.OnRequest']"
    )


def test_a_company_gives_its_dags_a_prefix_tags_and_arguments(monkeypatch):
    monkeypatch.setenv("SLUICE_DAG_PREFIX", "eu-")
    of = {"flight_events": {"queue": "large"}}
    made = all_dags(tags=["team a"], default_args={"owner": "ana", "pool": "kafka"}, of=of)
    by_id = {dag.dag_id: dag for dag in made.values()}
    assert {"eu-flight_events", "eu-flight_events__backfill", "eu-sluice_maintain"} <= by_id.keys()
    assert all("team a" in dag.tags for dag in by_id.values())
    tasks = [task for dag in by_id.values() for task in dag.tasks]
    assert {(task.owner, task.pool) for task in tasks} == {("ana", "kafka")}
    queues = {dag_id: {task.queue for task in dag.tasks} for dag_id, dag in by_id.items()}
    assert queues["eu-flight_events"] == queues["eu-flight_events__accept"] == {"large"}
    assert queues["eu-departure_delays"] == {"default"}
    assert {ids.pipeline_of(each) for each in by_id} == {
        *registry.names(),
        "sluice_maintain",
        "sluice_prove",
    }


def test_a_wrong_argument_of_one_pipeline_removes_no_other(monkeypatch):
    made = all_dags(of={"flight_events": {"pool_slots": 0}})
    found = {dag.dag_id: dag for dag in made.values()}
    assert found["flight_events"].has_task("spec")
    assert found["departure_delays"].has_task("drain")


def test_arguments_for_a_pipeline_that_is_not_there_are_refused():
    with fails(PipelineUnknown, "of_dags", name="flights"):
        all_dags(of={"flights": {"queue": "large"}})


def test_airflow_ends_a_drain_that_takes_longer_than_the_spec_allows(dags):
    for name, dag in dags.items():
        limit = registry.load(name).schedule.execution_timeout
        assert dag.get_task("drain").execution_timeout == limit == timedelta(hours=6)


def test_a_start_in_the_spec_is_the_dags_start(dags):
    assert {name: dag.start_date for name, dag in dags.items()} == {
        name: registry.load(name).schedule.start for name in dags
    }
    assert all((dag.start_date or datetime.min.replace(tzinfo=UTC)).tzinfo for dag in dags.values())
