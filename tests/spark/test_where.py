"""Every fate once, over a real broker: `where` against what was sent, with Spark and without."""

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from local.broker import create_topic
from spark_jobs.admin.quarantine import quarantine
from spark_jobs.launch.question import Failed
from spark_jobs.messages.request import Request
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.stage import stage
from spark_jobs.repair.swap import swap
from spark_jobs.repair.undo import undo
from spark_jobs.runs.drain import drain
from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish
from spark_jobs.source.leaving import stays
from spark_jobs.source.place import Place
from spark_jobs.spec import Archive, Latest, Pipeline, Rule, Transform
from spark_jobs.where.ask import places
from spark_jobs.where.tell import Telling
from tests.harness.command import answer, sluice, sluice_here
from tests.harness.crash import copied
from tests.harness.pipelines import variables_of
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.told import asking, fates
from tests.unit.specs import FIELDS, aggregate, deduplicate, pipeline, topic

pytestmark = alike("the fate of a record")

HERE = "tests.harness.pipelines"
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
SALES = topic(max_ahead="2 days")
PLAIN = pipeline(name="sales", topic=SALES, steps=(deduplicate(),))
FILTERED = PLAIN.model_copy(update={"steps": (Transform(where="amount > 0"), deduplicate())})
FORMS = [pytest.param(PLAIN, False, id="no JVM"), pytest.param(FILTERED, True, id="Spark")]


def sale(id_: str, minutes: float = 0, amount: int = 1) -> str:
    at = (AT + timedelta(minutes=minutes)).isoformat()
    return json.dumps({"id": id_, "at": at, "shop": "s", "amount": amount})


def made_of(scene: Any, spec: Pipeline, *values: str | bytes, run: str = "one") -> Scene:
    """One partition, drained once."""
    made: Scene = scene(spec, events=1, partitions=1, topic=f"sales-{uuid.uuid4().hex[:8]}")
    create_topic(made.kafka, made.topic, 1)
    made.send(*values, partition=0, timestamp=int(AT.timestamp() * 1000))
    made.run(run)
    return made


def more(made: Scene, *values: str | bytes, run: str) -> None:
    made.send(*values, partition=0, timestamp=int(AT.timestamp() * 1000))
    made.run(run)


def told(made: Scene, *offsets: int, jobs: list[Any] | None = None):
    found = fates(made.spec, made.settings, [(0, offset) for offset in offsets], jobs)
    return [found[0, offset] for offset in offsets]


@pytest.mark.parametrize(("spec", "asks_spark"), FORMS)
def test_each_record_of_two_batches_is_told_with_what_became_of_it(scene, spec, asks_spark):
    made = made_of(
        scene, spec, sale("a"), sale("b"), "{", sale("c", 60 * 72), sale("b", amount=2),
        sale("d"), sale("d"), sale("x", amount=-1),
    )  # fmt: skip
    jobs: list[Any] = []
    # The second batch moves the watermark two days on, and the third drops what is behind it.
    more(made, sale("a"), sale("e", 10), run="two")
    a, b, bad, early, b2, d, d2, x, a2, e = told(made, *range(10), jobs=jobs)
    assert (a.became, a.batch, a.run_id, a.copies) == ("accepted", 0, "one", ())
    assert (bad.became, bad.why) == ("malformed", "not JSON: " + bad.why.removeprefix("not JSON: "))
    assert (early.became, early.event_time) == ("premature", AT + timedelta(days=3))
    assert (a2.became, a2.copies, a2.batch, a2.run_id) == (
        "duplicate",
        (Place(0, 0),),
        e.batch,
        "two",
    )
    # The table's row tells which of two unlike copies was kept, and nothing tells it of alike ones.
    [row] = [row for row in made.table() if row["id"] == "b"]
    kept, lost = (b, b2) if row["amount"] == 1 else (b2, b)
    assert (kept.became, lost.became, lost.copies) == ("accepted", "duplicate", (kept.place,))
    assert {d.became, d2.became} == {"accepted or duplicate"}
    assert (d.copies, d2.copies) == ((d2.place,), (d.place,))
    assert d.untold
    assert [each["id"] for each in (*a.rows, *e.rows)] == ["a", "e"]
    assert (x.became, x.why) == (
        ("filtered", "step 1: keep rows where `amount > 0`") if asks_spark else ("accepted", "")
    )
    versions = {row["batch_id"]: row["table_version"] for row in made.ops("batches")}
    assert (a.table_version, e.table_version) == (versions[0], versions[e.batch])
    assert (a.event, "the event: it is not published yet" in a.untold) == (None, True)
    assert len(jobs) == (1 if asks_spark else 0)


def test_what_a_rule_leaves_out_or_refuses_is_told_with_all_rules_that_it_fails(scene):
    rules = (
        Rule(name="open", sql="shop <> 'closed'", on_failure="drop"),
        Rule(name="positive", sql="amount > 0", on_failure="warn"),
        Rule(name="small", sql="amount < 90", on_failure="quarantine"),
    )
    spec = PLAIN.model_copy(update={"topic": SALES.model_copy(update={"rules": rules})})
    closed = sale("b", amount=-1).replace('"s"', '"closed"')
    made = made_of(scene, spec, sale("a"), closed, sale("c", amount=95), sale("d", amount=-1))
    jobs: list[Any] = []
    a, b, c, d = told(made, 0, 1, 2, 3, jobs=jobs)
    assert (a.became, d.became, len(jobs)) == ("accepted", "accepted", 1)
    assert (b.became, b.why) == ("filtered", "it fails the rules open, positive")
    assert (c.became, c.why) == ("malformed", "it fails the rules small")


def test_a_record_that_a_rule_refuses_is_told_and_so_are_those_beside_it(scene):
    rules = (
        Rule(name="cheap", sql="amount < 1000", on_failure="refuse"),
        Rule(name="open", sql="shop <> 'closed'", on_failure="drop"),
    )
    spec = PLAIN.model_copy(update={"topic": SALES.model_copy(update={"rules": rules})})
    made = scene(spec, events=1, partitions=1, topic=f"sales-{uuid.uuid4().hex[:8]}")
    create_topic(made.kafka, made.topic, 1)
    closed = sale("c").replace('"s"', '"closed"')
    at = int(AT.timestamp() * 1000)
    made.send(sale("a"), sale("b", amount=5000), closed, partition=0, timestamp=at)
    assert made.drain().status == "failed"
    quarantine(made.spec, made.settings, (), "", "tester").execute()
    made.run("one")
    a, b, c = told(made, 0, 1, 2)
    assert (a.became, b.became, c.became) == ("accepted", "malformed", "filtered")
    assert (b.why, c.why) == ("it fails the rules cheap", "it fails the rules open")
    telling = Telling(made.spec, made.settings, asking(made.spec, made.settings))
    assert telling.by_key("amount > 0", 10) == [Place(0, n) for n in (0, 1, 2)]
    # One that is stricter than the rule by which the batch has accepted a record.
    stricter = (rules[0].model_copy(update={"sql": "amount < 1"}), rules[1])
    made.change(topic=made.spec.topic.model_copy(update={"rules": stricter}))
    assert telling._replace(spec=made.spec).by_key("shop = 's'", 10) == [Place(0, 0), Place(0, 1)]
    [a] = told(made, 0)
    assert (a.became, any("the spec has changed" in each for each in a.untold)) == (
        "cannot be told",
        True,
    )


def test_the_first_event_is_that_which_first_told_of_its_version(scene):
    made = made_of(scene, PLAIN, sale("a"))
    publish(made.paths, made.spec, Announced())
    more(made, sale("b"), run="two")
    publish(made.paths, made.spec, Announced())
    more(made, sale("c"), run="three")
    assert [each.event for each in told(made, 0, 1, 2)] == [1, 2, None]


@pytest.mark.parametrize(("spec", "asks_spark"), FORMS)
def test_a_late_record_has_what_it_missed_and_the_repair_that_has_merged_it(
    scene, spec, asks_spark
):
    made = made_of(scene, spec, sale("a"), sale("b", 9.5))
    more(made, sale("new", 60 * 5), run="three")
    more(made, sale("late", 30), sale("a"), run="four")
    [late, a2] = told(made, 3, 4)
    assert (late.became, late.run_id) == ("late", "four")
    assert late.watermark_missed == AT + timedelta(hours=3)
    assert (late.late_by, late.event_time) == (timedelta(hours=2.5), AT + timedelta(minutes=30))
    assert (late.used_by, late.table_version, a2.became) == ((), None, "late")
    plan = plan_repair(made.spec, made.settings, Request())
    plan.store(made.paths)
    stage(made.spec, made.settings, "stage", plan.repair_id)
    done = swap(made.spec, made.settings.root, plan.repair_id, "test")
    late, a2 = told(made, 3, 4)
    assert late.used_by == (f"repair {plan.repair_id} has put it into the rows",)
    assert late.table_version == done.table_version
    assert a2.used_by == (
        f"repair {plan.repair_id} has found it to be a copy of a record in the rows",
    )
    undo(made.spec, made.settings.root, plan.repair_id, "test")
    [late] = told(made, 3)
    assert (late.became, late.used_by, late.table_version) == ("late", (), None)


def test_offsets_without_a_record_are_told_apart(scene):
    made = made_of(scene, PLAIN, sale("a"))
    producer = Producer({"bootstrap.servers": made.kafka, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions(30)
    for value, kept in ((sale("kept"), True), (sale("aborted"), False)):
        producer.begin_transaction()
        producer.produce(made.topic, value, partition=0, timestamp=int(AT.timestamp() * 1000))
        producer.flush(30)
        producer.commit_transaction(30) if kept else producer.abort_transaction(30)
    more(made, sale("b"), run="two")
    made.send(sale("c"), partition=0)
    found = [str(each.became) for each in told(made, *range(8))]
    assert found == [
        "accepted", "accepted", "marker", "aborted", "marker", "accepted", "not read", "not read",
    ]  # fmt: skip
    waits, beyond = told(made, 6, 7)
    assert (waits.why, beyond.why) == (
        "it waits for the next run",
        "its source has no such offset yet",
    )


def configured(made: Scene, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource("topic", made.topic, incremental_configs=[entry])
    client = AdminClient({"bootstrap.servers": made.kafka})
    client.incremental_alter_configs([resource])[resource].result()


def remove_before(made: Scene, offset: int) -> None:
    client = AdminClient({"bootstrap.servers": made.kafka})
    [deleted] = client.delete_records([TopicPartition(made.topic, 0, offset)]).values()
    deleted.result()


def test_of_a_record_that_kafka_removed_the_accounts_and_kept_records_tell_what_they_can(scene):
    made = made_of(scene, FILTERED, sale("a"), "{", sale("x", amount=-1))
    more(made, sale("b"), run="two")
    remove_before(made, 4)
    a, bad, x, b = told(made, 0, 1, 2, 3)
    assert (bad.became, str(a.became), str(x.became)) == (
        "malformed",
        "cannot be told",
        "cannot be told",
    )
    assert (b.became, b.batch) == ("accepted", max(row["batch_id"] for row in made.ops("batches")))


def test_a_copy_of_a_record_that_kafka_removed_is_not_told_to_be_the_first(scene):
    """Nor one that it may have removed, of a topic that it compacts. The table's rows say it where
    they are the records; behind an Aggregate nothing does.
    """
    grouped = PLAIN.model_copy(update={"steps": (deduplicate(), aggregate())})
    for spec, wanted in ((PLAIN, "duplicate"), (grouped, "accepted or duplicate")):
        made = made_of(
            scene, spec.model_copy(update={"name": f"sales_{len(spec.steps)}"}), sale("a")
        )
        more(made, sale("a"), run="two")
        first, copy = told(made, 0, 1)
        assert (first.became, copy.became, copy.copies) == ("accepted", "duplicate", (Place(0, 0),))
        configured(made, "cleanup.policy", "compact,delete")
        [first] = told(made, 0)
        assert first.became == ("accepted" if spec is PLAIN else "accepted or duplicate")
        remove_before(made, 1)
        [copy] = told(made, 1)
        assert (copy.became, copy.copies) == (wanted, ())
        assert any("any more" in each for each in copy.untold)


def test_an_aggregates_record_is_in_the_row_of_its_window_once_that_is_written(scene):
    made = made_of(
        scene, pipeline(name="hours", topic=SALES, steps=(aggregate(),)), sale("a"), sale("b", 9)
    )
    [a, b] = told(made, 0, 1)
    assert (a.rows, a.table_version) == ((), None)
    assert any("window is open" in each for each in a.untold)
    more(made, sale("new", 60 * 5), run="two")
    [a, b, new] = told(made, 0, 1, 2)
    written = [row for row in made.ops("batches") if row["rows_out"]]
    assert a.rows == b.rows
    assert [row["sales"] for row in a.rows] == [2]
    assert a.table_version == written[0]["table_version"]
    assert new.rows == ()


def test_of_a_latest_the_row_of_a_key_names_the_record_that_it_is_of(scene):
    spec = pipeline(
        name="now",
        topic=SALES,
        steps=(Latest(keys=("shop",), order_by=("at",)),),
        watermark_delay=None,
    )
    made = made_of(scene, spec, sale("a"), sale("b", 5))
    old, new = told(made, 0, 1)
    assert (old.rows, [row["id"] for row in new.rows]) == ((), ["b"])
    # Nobody can tell whether the older one ever was in a row.
    assert (old.table_version, new.table_version is not None) == (None, True)
    assert any("another record's" in each for each in old.untold)


def test_steps_that_ask_for_the_time_of_their_query_are_not_asked_once_more(scene):
    recent = Transform(where="amount > 0 AND at > current_timestamp() - INTERVAL 100 YEARS")
    made = made_of(
        scene, PLAIN.model_copy(update={"steps": (recent, deduplicate())}),
        sale("a"), sale("x", amount=-1),
    )  # fmt: skip
    a, x = told(made, 0, 1)
    assert {str(a.became), str(x.became)} == {"cannot be told"}
    assert all("the time of the query" in each for each in (*a.untold, *x.untold))


FAILING = Transform(where="amount > 0 AND if(amount = 7, raise_error('seven') IS NULL, true)")


def test_beside_an_older_failing_record_that_is_forgotten_a_fate_is_told(scene):
    spec = PLAIN.model_copy(update={"steps": (FAILING, deduplicate())})
    made = made_of(scene, spec, sale("a"), sale("odd", amount=7), sale("x", amount=-1), sale("a"))
    failing = made.paths.failing
    failing.write_text(json.dumps(json.loads(failing.read_text()) | {"records": []}))
    a, odd, x, a2 = told(made, 0, 1, 2, 3)
    assert (odd.became, "seven" in odd.why) == ("malformed", True)
    assert (x.became, {str(a.became), str(a2.became)}) == ("filtered", {"accepted or duplicate"})


def test_where_spark_fails_on_a_record_today_that_is_the_answer(scene):
    made = made_of(scene, FILTERED, sale("a"), sale("odd", amount=7), sale("x", amount=-1))
    made.spec = made.spec.model_copy(update={"steps": (FAILING, deduplicate())})
    found = told(made, 0, 1, 2)
    assert {str(each.became) for each in found} == {"cannot be told"}
    assert [each.untold for each in found if "seven" not in " ".join(each.untold)] == []
    telling = Telling(made.spec, made.settings, asking(made.spec, made.settings))
    with pytest.raises(Failed, match="1") as refused:
        telling.by_key("nothing = 1", 10)
    assert "nothing" in refused.value.why


def test_records_are_found_by_a_condition_over_their_fields(scene):
    made = made_of(scene, PLAIN, sale("a"), sale("it's"), sale("a", 1), "{")
    telling = Telling(made.spec, made.settings, asking(made.spec, made.settings))
    assert telling.by_key("id = 'a'", 10) == [Place(0, 0), Place(0, 2)]
    assert telling.by_key("id = 'it''s' OR amount > 7", 10) == [Place(0, 1)]
    assert telling.by_key("id = 'none'", 10) == []


def test_a_changed_spec_does_not_speak_for_the_batches_of_the_former_one(scene):
    made = made_of(scene, FILTERED, sale("a"), sale("x", amount=-1))
    fields = tuple(
        each.model_copy(update={"at_least": 5}) if each.name == "amount" else each
        for each in FIELDS
    )
    made.change(topic=made.spec.topic.model_copy(update={"fields": fields}))
    a, x = told(made, 0, 1)
    assert {str(a.became), str(x.became)} == {"cannot be told"}
    assert all("the spec has changed" in each for each in (*a.untold, *x.untold))


def test_the_same_offsets_of_a_topic_that_was_made_anew_are_not_its_records(scene):
    made = made_of(scene, PLAIN, sale("a"))
    other = made_of(scene, PLAIN.model_copy(update={"name": "other"}), sale("z"))
    made.change(topic=made.spec.topic.model_copy(update={"name": other.topic}))
    [a] = told(made, 0)
    assert (a.became, a.rows) == ("accepted", ())


def test_the_command_tells_it_without_a_jvm_and_by_spark_where_only_that_knows(scene):
    """In processes of their own, which find no JVM unless they ask Spark."""
    made = scene("flight_events", "night", events=60, deliveries=1)
    variables = variables_of(made.spec)

    def where(*words: str, **more: str) -> str:
        return answer(sluice(made, HERE, "where", "flight_events", *words, **variables, **more))

    alone = {"JAVA_HOME": "/nowhere", "PATH": "/nowhere"}
    text = where("0:0", **alone)
    assert text.startswith("0:0  ")
    assert ", batch 0 of run night" in text
    lines = where("0:0-9,1:0-4", "--format", "json", **alone).splitlines()
    rows = [json.loads(line) for line in lines]
    wanted = [*(f"0:{n}" for n in range(10)), *(f"1:{n}" for n in range(5))]
    assert [row["record"] for row in rows] == wanted
    assert {row["run_id"] for row in rows} == {"night"}
    one = next(row for row in rows if row["rows"])
    key = f"event_id = '{one['rows'][0]['event_id']}'"
    found = where("--key", key, "--format", "json").splitlines()
    assert one["record"] in [json.loads(line)["record"] for line in found]


def test_a_census_asks_the_broker_how_long_it_keeps_a_record(scene):
    made = scene("flight_events", "night", events=60, deliveries=1)
    [row, *_] = made.table()
    sql = f"event_id = '{row['event_id']}'"
    words = ("--topic", made.topic, "--where", sql, "--format", "json")
    variables = made.settings.environment() | variables_of(made.spec) | {"SLUICE_PIPELINES": HERE}
    assert "for ever" in stays(made.settings, made.topic), "as the tests' broker has it"
    configured(made, "retention.ms", "604800000")
    told = json.loads(answer(sluice_here(variables, "find", *words)).splitlines()[-1])
    assert "7 days" in told["not_ours"][0]
    assert {"tables/flight_events"} <= {each["place"] for each in told["found"]}
    assert row["event_id"] not in json.dumps(told)


@pytest.mark.parametrize("words", [["x:1"], ["0:5-1"], [], ["0:1", "--key", "true"]], ids=" ".join)
def test_what_is_no_place_is_typed_wrongly(scene, words):
    made = scene("flight_events", events=60, deliveries=1)
    variables = made.settings.environment() | variables_of(made.spec) | {"SLUICE_PIPELINES": HERE}
    assert sluice_here(variables, "where", "flight_events", *words).returncode == 2


def test_a_moved_root_knows_the_events_of_before(scene, tmp_path):
    made = made_of(scene, PLAIN, sale("a"))
    publish(made.paths, made.spec, Announced())
    there = copied(made, tmp_path / "moved")
    [a] = told(there, 0)
    assert (a.event, [row["id"] for row in a.rows]) == (1, ["a"])


def test_behind_a_deduplicate_a_condition_may_leave_the_row_out_and_no_version_is_told(scene):
    steps = (deduplicate(), Transform(where="amount > 0"))
    made = made_of(
        scene, PLAIN.model_copy(update={"steps": steps}), sale("a", amount=-1), sale("b")
    )
    a, b = told(made, 0, 1)
    assert (a.became, a.rows, a.table_version) == ("accepted", (), None)
    assert ([row["id"] for row in b.rows], b.table_version) == (["b"], None)


def test_what_kafka_removed_is_read_from_the_topics_archive(scene):
    spec = FILTERED.model_copy(update={"topic": SALES.model_copy(update={"archive": Archive()})})
    made = made_of(scene, spec, sale("a"), sale("x", amount=-1), sale("a"))
    archive = archive_spec(made.spec.topic, made.spec.topic.archive)
    assert drain(archive, made.settings, "archive").status == "succeeded"
    remove_before(made, 3)
    a, x, a2 = told(made, 0, 1, 2)
    assert (x.became, x.why) == ("filtered", "step 1: keep rows where `amount > 0`")
    assert {a.became, a2.became} == {"accepted or duplicate"}


def test_of_several_topics_each_has_its_own_places(scene):
    names = [f"{each}-{uuid.uuid4().hex[:6]}" for each in ("eu", "us")]
    topics = tuple(topic(name=name, max_ahead="2 days") for name in names)
    spec = pipeline(name="both", topics=topics, topic=None, steps=(deduplicate(),))
    made = scene(PLAIN, events=1, partitions=1)
    made.spec = spec
    producer = Producer({"bootstrap.servers": made.kafka})
    for name, values in zip(names, (["a", "b"], ["a", "c"]), strict=True):
        create_topic(made.kafka, name, 1)
        for each in values:
            producer.produce(name, sale(each), partition=0, timestamp=int(AT.timestamp() * 1000))
    assert producer.flush(30) == 0
    made.run("both")
    asked = places(spec.inputs, [f"{name}/0:0-1" for name in names])
    found = [*fates(spec, made.settings, asked).values()]
    assert [each.values(spec.inputs)[0] for each in found] == [
        f"{name}/0:{n}" for name in names for n in (0, 1)
    ]
    # The topic is a column too, so the row tells which of the two copies was kept.
    [row] = [row for row in made.table() if row["id"] == "a"]
    copies = {found[0].values(spec.inputs)[0]: found[0], found[2].values(spec.inputs)[0]: found[2]}
    assert copies.pop(f"{row['topic']}/0:0").became == "accepted"
    assert [each.became for each in copies.values()] == ["duplicate"]
    assert [found[1].became, found[3].became] == ["accepted", "accepted"]
