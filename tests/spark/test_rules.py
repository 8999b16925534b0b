"""Rules over a broker: outcomes, counts and kept records are DuckDB's, also after a kill; a loosened
rule gives records back, and a stricter one takes rows out.
"""

import json
import random
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from local.broker import create_topic
from spark_jobs.admin.quarantine import quarantine
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import CheckFailed, RecordsRefused, SpecInvalid, StateIncompatible
from spark_jobs.repair.manifest import approve
from spark_jobs.repair.undo import undo
from spark_jobs.runs.account import second_read
from spark_jobs.runs.explain import deep, explain
from spark_jobs.spec import Pipeline, Rule, Transform, rule_share
from spark_jobs.steps import capture
from spark_jobs.steps.by_rules import REFUSED
from spark_jobs.storage import failpoint
from tests.harness.crash import Images, over
from tests.harness.long_form import long_form
from tests.harness.patience import patient
from tests.harness.refused import because, fails, has
from tests.harness.roots import told
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_repair import Repairs
from tests.spark.test_several_topics import EU, HOUR, US, Sales
from tests.unit.specs import deduplicate, pipeline, topic

pytestmark = alike("a row rule")

START, DAY = datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=1)
POSITIVE = Rule(name="positive", sql="amount > 0", on_failure="quarantine", null="fails")
KNOWN = Rule(name="known", sql="shop <> 'nowhere'", on_failure="quarantine")
SMALL = Rule(name="small", sql="amount < 90", on_failure="warn")
OPEN = Rule(name="open", sql="shop <> 'closed'", on_failure="drop")
RATIO = Rule(name="ratio", sql="1000 div (amount - 50) <> 7", on_failure="warn")
RULES = (POSITIVE, KNOWN, SMALL, OPEN, RATIO)
FAILS = {
    "positive": "NOT coalesce(amount > 0, false)",
    "known": "shop = 'nowhere'",
    "small": "coalesce(amount >= 90, false)",
    "open": "shop = 'closed'",
    "ratio": "false",
}
"""A rule -> what DuckDB finds a record by that fails it."""
MANY_ARE_BAD = ("malformed_share", "rejected_share")
RAISES = "coalesce(amount = 50, false)"


def ruled(*rules: Rule, **changes: Any) -> Pipeline:
    usual = {"name": "ruled", "steps": (deduplicate(),), "topic": topic(rules=rules)}
    return pipeline(**usual | changes)


def sales(count: int, seed: int) -> list[dict[str, Any]]:
    found = random.Random(seed)
    shops = ["a", "b", "nowhere", "closed"]
    return [
        {
            "id": f"{seed}-{number}",
            "at": (START + timedelta(seconds=20 * number)).isoformat(),
            "shop": found.choice(shops),
            "amount": found.choice([None, *range(-20, 100, 2)]),
        }
        for number in range(count - 1)
    ] + [{"id": "last", "at": (START + 3 * DAY).isoformat(), "shop": "a", "amount": 4}]


def sent(made: Scene, rows: list[dict[str, Any]]) -> Scene:
    create_topic(made.kafka, made.topic, made.partitions)
    made.send(*map(json.dumps, rows))
    return made


def asked(rows: list[dict[str, Any]], sql: str) -> list[Any]:
    with duckdb.connect() as found:
        found.register("sales", pa.Table.from_pylist(rows))
        return [value for (value,) in found.execute(f"SELECT {sql} FROM sales").fetchall()]


def ids(made: Scene) -> set[str]:
    found = [row["id"] for row in made.table()]
    assert len(found) == len(set(found))
    return set(found)


def held_against_duckdb(made: Scene, rows: list[dict[str, Any]], source: str) -> None:
    [batch] = [row for row in made.ops("batches") if row["read"]]
    counts = {rule: sum(asked(rows, sql)) for rule, sql in FAILS.items()}
    assert dict(batch["rules"]) == counts
    assert min(counts[name] for name in ("positive", "known", "small", "open")) > 0
    bad = f"{FAILS['positive']} OR {FAILS['known']} OR {RAISES}"
    malformed = {row["id"] for row, is_bad in zip(rows, asked(rows, bad), strict=True) if is_bad}
    shut = {row["id"] for row in rows if row["shop"] == "closed"} - malformed
    good = {row["id"] for row in rows} - malformed - shut
    assert (batch["read"], batch["malformed"]) == (len(rows), len(malformed))
    assert (batch["filtered"], batch["accepted"]) == (len(shut), len(good))
    assert (batch["unaccounted"], batch["source"]) == (0, source)
    assert ids(made) == good
    reasons = {row["id"]: reason_of(row) for row in rows if row["id"] in malformed}
    kept = {json.loads(row["value"])["id"]: row["reason"] for row in made.ops("quarantine")}
    assert kept == reasons
    assert any("known" in reason and "small" in reason for reason in kept.values())
    assert any("make" in reason for reason in kept.values())


def reason_of(row: dict[str, Any]) -> str:
    """Of a row that a rule refuses, or on which one fails."""
    failing = [name for name, sql in FAILS.items() if asked([row], sql)[0]]
    said = [f"it fails the rules {', '.join(failing)}"] if failing else []
    raises = asked([row], RAISES)[0]
    return "; ".join([*said, *(["it makes the SQL of these rules fail: ratio"] if raises else [])])


class Done(Images):
    """The audit waits for Spark's note that the batch is done: it may be faster."""

    def at(self, place: str) -> None:
        deadline = time.monotonic() + patient(60)
        while place == "audit" and not Checkpoint(self._scene.paths.checkpoint).committed():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        super().at(place)


def test_what_rules_say_is_duckdbs_and_a_killed_drain_says_the_same(scene, tmp_path, monkeypatch):
    rows = sales(400, 1)
    # One batch: the account of one may else be written when the next one is half done.
    made = sent(scene(ruled(*RULES), state_checks_off=MANY_ARE_BAD, max_batches=1), rows)
    images = Done(made, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(failpoint, "at", images.at)
        made.run()
    held_against_duckdb(made, rows, "progress")
    # The account of a killed run's batch goes by the rules that judged it.
    loose = POSITIVE.model_copy(update={"sql": "amount > -11", "null": "passes"})
    others = made.spec.topic.model_copy(update={"rules": (loose, *RULES[1:])})
    unaudited = over(made, images.taken["audit", 0])
    unaudited.spec = unaudited.spec.model_copy(update={"topic": others})
    unaudited.run("again")
    held_against_duckdb(unaudited, rows, "reread")
    half_done = over(made, images.taken["table.committed", 0])
    half_done.spec, ours = half_done.spec.model_copy(update={"topic": others}), half_done.spec
    because(half_done.drain("refused").problem, StateIncompatible, "batch_half_done", batch=0)
    half_done.spec = ours
    half_done.run("again")
    held_against_duckdb(half_done, rows, "progress")

    # The replay of what was kept, after one of the rules allows more.
    made.change(topic=others, max_batches=None)
    made.run("closing")
    work, before = Repairs(made), ids(made)
    plan = work.plan("replay")
    assert work.stage(plan).problem is None
    approve(made.paths, plan.repair_id, "tester")  # a replay asks for a person
    work.swap(plan)
    now = f"NOT (coalesce(amount <= -11, false) OR {FAILS['known']} OR {RAISES} OR shop = 'closed')"
    allowed = {row["id"] for row, good in zip(rows, asked(rows, now), strict=True) if good}
    assert before < ids(made) == allowed
    assert work.plan("replay").idle or not work.plan("replay").from_quarantine

    # A stricter one takes rows out, and an undo brings them back.
    strict = Rule(name="even", sql="amount % 4 = 0", on_failure="quarantine")
    made.change(topic=made.spec.topic.model_copy(update={"rules": (loose, *RULES[1:], strict)}))
    made.run("free")  # no state depends on a rule
    plan = work.plan("backfill", START, START + DAY)
    assert work.stage(plan).problem is None
    approve(made.paths, plan.repair_id, "tester")
    work.swap(plan)
    fewer = {row["id"] for row in rows if row["amount"] is None or row["amount"] % 4 == 0}
    assert ids(made) == allowed & fewer
    assert any(row["reason"] == "it fails the rules even" for row in made.ops("quarantine"))
    [told_of] = [row for row in made.ops("repairs") if row["repair_id"] == plan.repair_id]
    ruled_now = FAILS | {
        "positive": "coalesce(amount <= -11, false)",
        "even": "coalesce(amount % 4 <> 0, false)",
    }
    wrong = {rule: sum(asked(rows, sql)) for rule, sql in ruled_now.items()}
    assert dict(told_of["rules"]) == wrong, "also of records that are in quarantine by now"
    undo(made.spec, made.settings.root, plan.repair_id, "undo")
    assert ids(made) == allowed


@pytest.mark.parametrize(
    "bytes_of_the_driver",
    [pytest.param(second_read.COLLECTED_BYTES, marks=[long_form]), 2_000],
    ids=["by the driver", "by executors"],
)
def test_more_records_than_a_task_keeps_are_read_again_and_kept(
    scene, monkeypatch, bytes_of_the_driver
):
    monkeypatch.setattr(capture, "MOST_KEPT", 3)
    monkeypatch.setattr(second_read, "COLLECTED_BYTES", bytes_of_the_driver)
    rows = sales(400, 4)
    made = sent(scene(ruled(*RULES), state_checks_off=MANY_ARE_BAD), rows)
    made.run()
    held_against_duckdb(made, rows, "progress")


def test_each_of_several_topics_has_rules_of_its_own(kafka, tmp_path):
    made = Sales(kafka, tmp_path)
    positive = POSITIVE.model_copy(update={"sql": "amount > 5"})
    eu, us = made.topics
    made.topics = [
        eu.model_copy(update={"rules": (positive, SMALL)}),
        us.model_copy(update={"rules": (OPEN, POSITIVE)}),
    ]
    shares = (rule_share("positive", 0.5),)
    made.declare(steps=(deduplicate(),), state_checks=shares, state_checks_off=MANY_ARE_BAD)
    for topic_of, amount in ((EU, 5), (EU, 99), (US, 5), (US, None)):
        made.send(topic_of, START, START + HOUR, amount=amount)
    report = made.run()
    [batch] = [row for row in told(made.paths.root, "batches") if row["read"]]
    assert dict(batch["rules"]) == {
        f"{eu.name}/positive": 2, f"{eu.name}/small": 2,
        f"{us.name}/open": 0, f"{us.name}/positive": 2,
    }  # fmt: skip
    assert (report.account.malformed, report.account.accepted) == (4, 4)
    [check] = [each for each in report.checks if each.column == "rule_share_positive"]
    assert json.loads(check.observed) == 4 / 8
    kept = {(row["topic"], row["reason"]) for row in told(made.paths.root, "quarantine")}
    assert kept == {(each.name, "it fails the rules positive") for each in (eu, us)}


def test_a_rule_that_refuses_ends_the_batch_and_proposes_all_its_records(scene):
    cheap = Rule(name="cheap", sql="amount < 1000", on_failure="refuse")
    rows = sales(20, 2)
    rows[3]["amount"], rows[9]["amount"] = 5000, 6000
    made = sent(scene(ruled(cheap, SMALL), partitions=1), rows)
    report = made.drain()
    because(
        report.problem, RecordsRefused, "batch", places="partition 0 offset 3, partition 0 offset 9"
    )
    assert not report.problem.error().retry
    assert not made.paths.table.exists() or made.table() == []
    intent = quarantine(made.spec, made.settings, (), "", "tester")
    assert any("it fails the rules cheap, small" in line for line in intent.lines)
    intent.execute()
    made.run("again")
    [batch] = [row for row in made.ops("batches") if row["read"]]
    assert (batch["malformed"], batch["accepted"]) == (2, 18)
    assert dict(batch["rules"])["cheap"] == 0, "no rule judges what a person has put aside"
    assert {row["reason"] for row in made.ops("quarantine")} == {"it fails the rules cheap, small"}

    # Records that are in the table by now: a backfill names them.
    cheaper = cheap.model_copy(update={"sql": "amount IS NULL OR amount < 60"})
    made.change(topic=made.spec.topic.model_copy(update={"rules": (cheaper,)}))
    work = Repairs(made)
    problem = work.stage(work.plan("backfill", START, START + DAY)).problem
    dear = [n for n, row in enumerate(rows) if 60 <= (row["amount"] or 0) < 1000]
    named = " ".join(f"--record 0:{offset}" for offset in dear)
    because(problem, RecordsRefused, "repair", named=named)


def test_a_value_with_the_words_of_a_refusal_is_an_expressions_failure_as_any(scene):
    cheap = Rule(name="cheap", sql="amount < 1000", on_failure="refuse")
    steps = (Transform(where="amount > CAST(shop AS INT)"), deduplicate())
    rows = [{"id": str(n), "at": START.isoformat(), "shop": "1", "amount": 9} for n in range(3)]
    rows[1]["shop"] = f"{REFUSED} partition 0"
    made = sent(scene(ruled(cheap, steps=steps), state_checks_off=MANY_ARE_BAD), rows)
    report = made.run()
    assert (report.account.malformed, report.account.accepted) == (1, 2)


def test_a_share_of_failing_records_fails_the_run_by_one_line(scene):
    checks = (rule_share("small", 0.01),)
    rows = sales(100, 3)
    made = sent(scene(ruled(SMALL, OPEN), state_checks=checks), rows)
    report = made.drain()
    assert report.problem is not None
    assert report.problem.code == CheckFailed.code
    [result] = [each for each in report.checks if each.column == "rule_share_small"]
    failing = sum(asked(rows, FAILS["small"]))
    assert json.loads(result.observed) == failing / 100 > 0.01


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("amout > 0", "UNRESOLVED_COLUMN"),
        ("amount + 1", "FILTER_NOT_BOOLEAN"),
        ("shop", "FILTER_NOT_BOOLEAN"),
        ("'true'", "FILTER_NOT_BOOLEAN"),
        ("NULL", "FILTER_NOT_BOOLEAN"),
        ("*", "STAR"),
        ("kafka.offset > 0", "UNRESOLVED_COLUMN"),
        ("sum(amount) > 0", "INVALID_WHERE_CONDITION"),
        ("at < current_timestamp()", "when it is asked"),
        ("at < Current_Timestamp", "when it is asked"),
        ("unix_timestamp(at) < unix_timestamp()", "when it is asked"),
        ("at < 'now'", "when it is asked"),
        ("to_date(at) < CAST('Today' AS DATE)", "when it is asked"),
        ("at < timestamp'now'", "when it is asked"),
        ("window(at, '1 hour', '30 minutes').start < at", "come twice"),
        ("window(at, '1 hour').start < at", "come twice"),
        ("session_window(at, '1 hour').start < at", "come twice"),
    ],
)
def test_a_rule_that_is_no_condition_over_the_columns_is_refused(as_submitted, tmp_path, sql, why):
    ours = ruled(SMALL, Rule(name="wrong", sql=sql, on_failure="warn"))
    made = Scene("127.0.0.1:1", tmp_path, ours)
    named = {"rule": "wrong", "sql": sql, "columns": "id, at, shop, amount"}
    with fails(SpecInvalid, "rule_unusable", why=has(why), **named):
        [*deep(made.spec, made.settings)]


def test_a_rule_that_does_not_parse_is_refused_and_explain_tells_each(as_submitted, tmp_path):
    wrong = Rule(name="wrong", sql="amount >", on_failure="warn")
    made = Scene("127.0.0.1:1", tmp_path, ruled(SMALL, wrong))
    field = "ruled: topic.rules[1].sql"
    with fails(SpecInvalid, "expression_refused", field=field, text="amount >"):
        [*deep(made.spec, made.settings)]
    made.change(topic=made.spec.topic.model_copy(update={"rules": RULES}))
    lines = [*explain(made.spec, made.settings)]
    assert "  quarantine: positive: `amount > 0`, null fails" in lines
