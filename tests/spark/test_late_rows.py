"""What the account takes for late, and what Spark's own plan drops: one thing, in each plan."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pyspark.errors import StreamingQueryException

from spark_jobs.errors import SpecInvalid
from spark_jobs.errors.carried import carried, carried_in
from spark_jobs.messages.report import Problem
from spark_jobs.runs.explain import plan_of
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import (
    Aggregate,
    Deduplicate,
    GroupState,
    Pipeline,
    Session,
    Sliding,
    State,
    Transform,
    Tumbling,
)
from spark_jobs.steps.chain import late_by
from spark_jobs.steps.late_rows import plan_of_batch, refuse_late_rows
from tests.harness.refused import because
from tests.harness.turns import alike
from tests.spark import operators
from tests.spark.properties.events import BEGIN, TOPIC, Event, good
from tests.spark.properties.scene import Scene

LATE = alike("what Spark drops as late")

HOUR = timedelta(hours=1)
STATE = State(shuffle_partitions=1, budget_rows=1000)
FOR_EVER = Deduplicate(keys=("event_id",), scope="for_ever")
WITHOUT_TIME = Transform(sql="SELECT event_id, value FROM rows")
WITH_ONE_PREDICATE = {
    "StreamingDeduplicate": "Data",
    "StreamingDeduplicateWithinWatermark": "Data",
    "SessionWindowStateStoreRestore": "Data",
    "StateStoreSave": "Keys",
}
"""Node of Spark's plan -> which of its two predicates it uses for late rows (Spark's sources)."""


def pipeline(*steps, **given) -> Pipeline:
    usual = {"name": "late_rows", "about": "generated", "topic": TOPIC, "state": STATE}
    return Pipeline(**usual | {"watermark_delay": "10 minutes", "steps": steps} | given)


@LATE
def test_a_late_record_stays_out_where_what_is_behind_replaces_the_event_time(kafka, tmp_path):
    behind = Transform(sql="SELECT event_id, current_timestamp() AS event_time FROM rows")
    made = Scene(kafka, tmp_path, pipeline(FOR_EVER, behind), 1)
    for sent in ({"a": 1, "b": 5}, {"late": 0, "c": 6}):
        events = (Event(name, BEGIN + hours * HOUR, "k", 1) for name, hours in sent.items())
        made.send([good(event, 0) for event in events])
        report = made.drain(None)
        assert report.status == "succeeded", report.problem
        assert report.account.unaccounted == 0
    assert [row["offset"] for row in made.ops("late")] == [2]
    assert sorted(row["event_id"] for row in made.table()) == ["a", "b", "c"]


@LATE
@pytest.mark.parametrize("measure", ["max(key)", "max(value)"], ids=["text", "number"])
def test_a_measure_with_the_name_of_the_event_time_is_no_time(kafka, tmp_path, measure):
    step = Aggregate(window=Tumbling(size=HOUR), measures={"event_time": measure})
    made = Scene(kafka, tmp_path, pipeline(step, output_mode="update"), 1)
    made.send([good(Event("a", BEGIN, "no time", 7), 0)])
    report = made.drain(None)
    assert report.status == "succeeded", report.problem
    assert (report.account.accepted, report.account.malformed) == (1, 0)
    assert [row["event_time"] for row in made.table()] == ["no time" if "key" in measure else 7]


def test_a_query_whose_plan_lets_late_rows_in_ends_before_its_first_batch(spark, tmp_path):
    """A stream of files in the place of Kafka, and Spark's own operators in the place of the
    steps: as they were planned before chain.py kept the event time.
    """
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"event_id": "a", "event_time": "2026-01-01"}')
    rows = spark.readStream.schema("event_id string, event_time timestamp").json(
        str(tmp_path / "in")
    )
    rows = rows.withWatermark("event_time", "10 minutes").dropDuplicates(["event_id"])
    written = []

    @carried()
    def write(batch, _) -> None:
        refuse_late_rows(plan_of_batch(spark), pipeline(FOR_EVER, WITHOUT_TIME))
        written.append(batch.collect())

    def run(rows, name: str) -> None:
        started = rows.writeStream.foreachBatch(write).trigger(availableNow=True)
        started.option("checkpointLocation", str(tmp_path / name)).start().awaitTermination()

    with pytest.raises(StreamingQueryException) as failed:
        run(rows.select("event_id"), "without")
    expected = {"pipeline": "late_rows", "step": 1, "column": "event_time"}
    because(Problem.of(carried_in(str(failed.value))), SpecInvalid, "late_rows_enter", **expected)
    assert written == []
    run(rows, "with")
    assert [row["event_id"] for batch in written for row in batch] == ["a"]


def planned(spec: Pipeline, folder):
    """The SparkPlan of the pipeline's first batch, by Spark's own planner: no batch runs."""
    rows = plan_of(spec, Settings.from_environment())
    session: Any = rows.sparkSession
    jvm = session._jvm  # noqa: SLF001 - no public way to a plan
    scala, streaming = jvm.scala, jvm.org.apache.spark.sql.execution.streaming
    none = getattr(scala, "None$").__getattr__("MODULE$")
    fixed = getattr(scala.collection.immutable, "Map$").__getattr__("MODULE$").empty()
    grows = getattr(scala.collection.mutable, "Map$").__getattr__("MODULE$").empty()
    modes = getattr(jvm.org.apache.spark.sql.execution, "CommandExecutionMode$")
    id_ = jvm.java.util.UUID.randomUUID()
    return streaming.runtime.IncrementalExecution(
        session._jsparkSession,  # noqa: SLF001 - as above
        rows._jdf.queryExecution().analyzed(),  # noqa: SLF001 - as above
        getattr(jvm.org.apache.spark.sql.streaming.OutputMode, spec.output_mode.capitalize())(),
        str(folder / uuid.uuid4().hex / "state"),
        id_,
        id_,
        0,
        none,
        streaming.checkpointing.OffsetSeqMetadata(0, 0, fixed),
        getattr(streaming.runtime, "WatermarkPropagator$").__getattr__("MODULE$").noop(),
        True,
        grows,
        grows,
        modes.__getattr__("MODULE$").ALL(),
        False,
    ).executedPlan()


def predicates(plan) -> list[bool]:
    """For each operator that could drop late rows, from the source on: whether it does."""
    children = plan.children()
    found = [one for n in range(children.size()) for one in predicates(children.apply(n))]
    kind = WITH_ONE_PREDICATE.get(plan.nodeName())
    if kind is None:
        return found
    return [*found, getattr(plan, f"watermarkPredicateFor{kind}ForLateEvents")().isDefined()]


def assert_spark_drops_what_is_late(spec: Pipeline, folder) -> None:
    plan = planned(spec, folder)
    first, *others = predicates(plan)
    uses_none = spec.output_mode == "complete" and "SessionWindow" not in plan.toString()
    assert (first and not uses_none) == (late_by(spec) is not None)
    # One behind it drops nothing that was accepted: the first has dropped it all.
    assert first or not any(others)
    refuse_late_rows(plan, spec)


WITHOUT_CODE = [
    each for each in operators.ALL
    if not any(isinstance(step, GroupState) for step in each.spec.steps)
]  # fmt: skip
"""Spark asks a GroupState's code for its state when it plans. Its drains hold the plan as all do
(test_operators.py).
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("planned")


@pytest.mark.parametrize("operator", WITHOUT_CODE, ids=lambda operator: operator.spec.name)
@pytest.mark.parametrize("behind", [(), (Transform(sql="SELECT 1 AS one FROM rows"),)], ids=["", "constant"])  # fmt: skip
def test_each_form_of_a_step_drops_what_is_late_whatever_stands_behind_it(
    operator, behind, folder, examples
):
    spec = operator.spec
    steps = spec.steps if spec.output_mode != "append" else (*spec.steps, *behind)
    assert_spark_drops_what_is_late(
        spec.model_copy(update={"steps": steps, "output_checks": ()}), folder
    )


MADE = ("1 AS one", "current_timestamp() AS event_time", "upper(key) AS key")
WINDOWS = (Tumbling(size=HOUR), Sliding(size=HOUR, slide=HOUR / 3), Session(gap=HOUR))


@st.composite
def transforms(draw, columns: tuple[str, ...]) -> tuple[Transform, ...]:
    """Of these columns some stay, some are made anew; rows go, or none, or all."""
    kept = draw(st.sets(st.sampled_from(columns)))
    made = draw(st.sets(st.sampled_from(MADE if "key" in columns else MADE[:2])))
    wanted = {each.rpartition(" ")[2]: each for each in (*sorted(kept), *sorted(made))}
    selects = [Transform(sql=f"SELECT {', '.join(wanted.values())} FROM rows")] if wanted else []
    wheres = draw(st.sampled_from([[], [Transform(where="true")], [Transform(where="1 = 0")]]))
    return (*wheres, *selects)


KEYS = (("event_id",), ("event_id", "event_time"), ("*",), ("event_time",))


def deduplicates(scope: str) -> st.SearchStrategy[Deduplicate]:
    keys = KEYS[1::2] if scope == "event_time" else KEYS
    return st.builds(Deduplicate, keys=st.sampled_from(keys), scope=st.just(scope))


def aggregates(*windows) -> st.SearchStrategy[Aggregate]:
    """Spark makes no sessions of all rows together."""
    steps = st.builds(
        Aggregate,
        window=st.sampled_from(windows),
        keys=st.sampled_from([("key",), ()]),
        measures=st.just({"n": "count(*)"}),
    )
    return steps.filter(lambda step: step.keys or not isinstance(step.window, Session))


ENTRIES = {
    "for_ever": ("append", deduplicates("for_ever")),
    "watermark": ("append", deduplicates("watermark")),
    "event_time": ("append", deduplicates("event_time")),
    "windows": ("append", aggregates(*WINDOWS[:2])),
    "update": ("update", aggregates(None, *WINDOWS[:2])),
    "complete": ("complete", aggregates(None, *WINDOWS)),
}
"""Output mode, and what the first stateful step may be in it."""


@LATE
@pytest.mark.parametrize("name", ENTRIES)
def test_no_transform_decides_whether_spark_drops_what_the_account_takes_for_late(
    name, folder, as_submitted
):
    mode, entries = ENTRIES[name]

    @settings(
        max_examples=12, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(data=st.data())
    def planned_as_told(data) -> None:
        entry = data.draw(entries)
        copied = Transform(sql="SELECT event_time AS again, * FROM rows")
        before = data.draw(st.sampled_from([(), (Transform(where="value > 0"),), (copied,)]))
        behind = data.draw(transforms(entry.columns_after(TOPIC.columns)))
        again = data.draw(st.sampled_from([(), (Deduplicate(keys=("*",), scope="for_ever"),)]))
        behind = (*behind, *again) if isinstance(entry, Deduplicate) else behind
        several = data.draw(st.booleans())
        topics = (TOPIC, TOPIC.model_copy(update={"name": "more"}))
        spec = pipeline(
            *before, entry, *(behind if mode == "append" else ()),
            output_mode=mode,
            watermark_delay=data.draw(st.sampled_from(["1 second", "2 hours"])),
            **({"topic": None, "topics": topics} if several else {}),
        )  # fmt: skip
        assert_spark_drops_what_is_late(spec, folder)

    planned_as_told()
