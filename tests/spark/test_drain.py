"""Drains over real Kafka, held against an oracle that knows neither Spark nor Sluice."""

import time

import pytest

from local.broker import create_topic
from spark_jobs.admin.accept import accept
from spark_jobs.decode.raw_filter import OVERHEAD
from spark_jobs.errors import CheckFailed
from spark_jobs.launch.session import dynamic
from spark_jobs.runs.account.audit import Audit
from spark_jobs.runs.publish.publication import to_publish
from spark_jobs.state.reader import operators, read
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.path_forms import state_url
from tests.harness.long_form import long_form
from tests.harness.refused import because
from tests.harness.turns import alike

pytestmark = pytest.mark.usefixtures(
    "compiled"
)  # as a drain runs: the other tests interpret, to save time

READ_AGAIN = alike("a batch that is read again")


@pytest.fixture
def read_again(monkeypatch):
    """Batches that the audit reads again from Kafka."""
    batches, read = [], Audit._read_again  # noqa: SLF001 - what is to be seen
    monkeypatch.setattr(
        Audit, "_read_again", lambda self, batch: (batches.append(batch.id), read(self, batch))[1]
    )
    return batches


def stored_rows(spark, made, batch):
    """The rows of each step's state, as its variables and no timers are read."""
    checkpoint = state_url(made.paths.checkpoint)
    steps = [step for step in made.spec.steps if step.stateful]
    return [
        sum(
            read(spark, checkpoint, batch, operator, variable, step, {}, 1).total
            for variable in operator.variables
            if not variable.name.endswith("timers")
        )
        for step, operator in zip(steps, operators(spark, checkpoint, batch), strict=True)
    ]


@pytest.mark.parametrize(
    "pipeline",
    [
        pytest.param("flight_events", marks=long_form),
        "departure_delays",
        pytest.param("aircraft_rotations", marks=long_form),
    ],
)
def test_three_deliveries_drained_one_by_one_give_the_canonical_result_less_what_was_late(
    scene, spark, pipeline, read_again
):
    made = scene(pipeline, events=3000, checked=True, stores=None)
    for number in range(3):
        counts = made.deliver()
        report = made.run(f"run-{number}")
        account = report.account
        assert account.read == sum(counts.values())
        assert account.malformed == counts["malformed"] > 0
        assert account.premature == counts["premature"] > 0
    assert made.late(), "a scene without late records proves nothing about them"
    assert read_again == [], (
        "bad and late records are kept as their batch runs, and Kafka is not read again for them"
    )
    made.assert_exact()
    told = {row["batch_id"]: row["operators"] for row in made.ops("batches")}
    for batch in (0, max(told)):  # of the first run Sluice adds them up, of the last Spark counts
        rows = [operator["numRowsTotal"] for operator in told[batch]]
        assert rows == stored_rows(spark, made, batch)
        assert sum(rows)


@READ_AGAIN
def test_a_batch_with_more_to_keep_than_the_budget_is_read_again(scene, read_again, monkeypatch):
    made = scene("departure_delays", events=1000, deliveries=1)
    monkeypatch.setattr("spark_jobs.decode.raw_filter.BUDGET", 2000)
    made.deliver()
    account = made.run().account
    assert account.malformed > 2000 / OVERHEAD / 2
    assert read_again == [0]
    made.assert_exact()


@READ_AGAIN
def test_batches_whose_progress_spark_has_forgotten_are_read_again(scene, read_again, monkeypatch):
    made = scene("departure_delays", events=1000, deliveries=1, max_offsets_per_batch=300)
    remembers = {**dynamic(made.spec.state), "spark.sql.streaming.numRecentProgressUpdates": "1"}
    monkeypatch.setattr("spark_jobs.launch.session.dynamic", lambda _: remembers)
    monkeypatch.setattr(
        "spark_jobs.runs.account.audit.AT_ONCE", 0
    )  # it looks when the query has ended, and not before
    made.deliver()
    account = made.run().account
    ran = [row["batch_id"] for row in made.ops("batches", "batch_id")]
    assert len(read_again) >= 3
    assert set(read_again) < set(ran), "the last one is remembered"
    assert account.read == made.ledger.num_rows
    made.assert_exact()


def test_a_run_begins_no_batch_after_its_last_minute_and_the_next_goes_on(scene, monkeypatch):
    made = scene("flight_events", events=600, deliveries=2, max_offsets_per_batch=150)
    made.deliver()
    seconds = made.run(
        "first"
    ).query_seconds  # in so long this machine begins a batch, whatever else it has to do
    made.change(max_minutes=seconds / 60)
    new = sum(made.deliver().values())
    deadlines = []

    def at(place: str):
        """The first batch is in the table when the run's time is over."""
        if place == "planned":
            deadlines.append(time.monotonic() + seconds)
        while place == "table.committed" and time.monotonic() < deadlines[0]:
            time.sleep(0.05)

    with monkeypatch.context() as slow:
        slow.setattr(failpoint, "at", at)
        bounded = made.run("bounded")
    assert bounded.bounded_by == f"max_minutes={seconds / 60:g}"
    assert len(deadlines) == len(bounded.batches) == 1
    assert 0 < bounded.account.read < new
    assert bounded.waiting == new - bounded.account.read
    made.change(max_minutes=None)
    rest = made.run("the rest")
    assert (rest.account.read, rest.bounded_by, rest.waiting) == (bounded.waiting, "", 0)
    made.assert_exact()


def test_a_run_with_nothing_new_keeps_the_last_known_state_and_writes_nothing(drained):
    first, second = drained.run("second"), drained.run("third")
    assert second.batches == ()
    assert second.state.rows == first.state.rows > 0
    assert second.watermark == first.watermark
    assert second.table_version == first.table_version
    drained.assert_exact()


def test_a_first_run_that_accepts_nothing_is_red_says_why_and_waits_for_a_persons_word(scene):
    """A gzip, an epoch time, a renamed key: an empty table was published, all checks green."""
    made = scene("flight_events", state_checks_off=())
    create_topic(made.kafka, made.topic, made.partitions)
    made.send(*(b'{"eventId": "%d", "delay": 1}' % number for number in range(250)))
    said: list[str] = []
    report = made.drain("first", said.append)
    because(report.problem, CheckFailed, "records_rejected", count=2)
    assert made.table() == [], "no row could be corrected"
    failed = report.failing("critical")
    # The spec's own check on malformed_share warns, and so takes the place of the critical one.
    assert {check.column for check in failed} == {"nothing_accepted", "rejected_share"}
    told = "\n".join(said)
    assert "of 250 records 250 are malformed" in told
    assert "an object with eventId (text), delay (whole number); it lacks event_id (string)" in told
    assert to_publish(made.paths, made.spec) is None
    names = tuple(check.name for check in failed)
    accept(made.spec, made.settings, names, "the topic is new", "ana").execute()
    assert to_publish(made.paths, made.spec) is not None
