"""`sluice tune` over real drains: its shares are DuckDB's over the topic, by the rule of Spark's
watermark; and `sluice bisect` over the same root.
"""

import json
import os
import random
import shlex
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from local.broker import create_topic
from spark_jobs.since.tell import told as since
from spark_jobs.source.place import Place
from spark_jobs.spec import Transform
from spark_jobs.spec.duration import parse_duration
from spark_jobs.tune.tell import told
from spark_jobs.values.times import iso
from spark_jobs.where.tell import Telling
from tests.harness.late_by_duckdb import Records
from tests.harness.moments import us
from tests.harness.scene import Scene
from tests.harness.turns import VARIABLE, alike
from tests.spark.told import asking
from tests.unit.specs import aggregate, deduplicate, pipeline, topic

pytestmark = alike("late shares")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
DELAYS = ("1 minute", "30 minutes", "1 hour", "2 hours", "5 hours")
RUNS, RECORDS = 3, 150
WINDOWS = pipeline(
    name="sales", topic=topic(max_ahead="30 days"), watermark_delay="1 hour",
    steps=(aggregate(),), max_offsets_per_batch=60,
)  # fmt: skip
FILTERED = WINDOWS.model_copy(update={"steps": (Transform(where="amount >= 0"), deduplicate())})


@pytest.fixture(scope="module", params=[WINDOWS, FILTERED], ids=["windows", "filtered"])
def drained(request, kafka, as_submitted, tmp_path_factory):
    spec = request.param
    name = f"sales-{uuid.uuid4().hex[:8]}"
    made = Scene(kafka, tmp_path_factory.mktemp("tune"), spec, events=1, stores=1, topic=name)
    create_topic(made.kafka, made.topic, 1)
    chance = random.Random(os.environ.get(VARIABLE, "0"))  # others each day
    sent = []
    for run in range(RUNS):
        for number in range(RECORDS):
            minutes = run * 180 + number * 0.6
            behind = chance.choice([0] * 6 + [20, 45, 75, 150, 900]) * chance.random()
            at = AT + timedelta(minutes=minutes - behind)
            amount = chance.choice([1, 2, 3, -1])
            id_ = f"{run}-{number}"
            value = {"id": id_, "at": at.isoformat(), "shop": "s", "amount": amount}
            malformed = chance.random() < 0.03
            enters = not malformed and (spec is WINDOWS or amount >= 0)
            made.send("{" if malformed else json.dumps(value), partition=0)
            record = {"topic": 0, "spot": len(sent), "at": us(at), "enters": enters}
            sent.append(record | {"good": not malformed})
        made.run(f"run-{run}")
    return made, sent


def by_duckdb(made, sent: list[dict[str, Any]]) -> Records:
    """Of records of one partition, whose batches are those of the runs."""
    batches = [
        (row["batch_id"], json.loads(row["offsets_start"]).get("0", 0),
         json.loads(row["offsets_end"])["0"])
        for row in made.ops("batches")
    ]  # fmt: skip
    return Records(
        (each | {"batch": n} for n, first, stop in batches for each in sent[first:stop]),
        len(batches),
    )


def test_the_shares_are_duckdbs_over_the_topic_exactly_or_within_the_bounds(drained):
    made, sent = drained
    delays = [parse_duration(each) for each in DELAYS]
    records = by_duckdb(made, sent)
    truth = {delay: sum(records.late(made.spec, delay).values()) for delay in delays}
    assert truth[delays[0]] > truth[delays[2]] > truth[delays[-1]] > 0
    bounds = told(made.spec, made.settings, delays)
    was_late = f"As the runs had it, {truth[parse_duration('1 hour')]:,} of these"
    assert any(each.startswith(was_late) for each in bounds.notes)
    for price in bounds.prices:
        assert price.late.least <= truth[price.delay] <= price.late.most
        assert price.late.least == price.late.most or price.delay < made.spec.watermark_delay
    assert bounds.prices[0].late.least < bounds.prices[0].late.most
    jobs: list[object] = []
    exact = told(made.spec, made.settings, delays, ask=asking(made.spec, made.settings, jobs))
    assert bool(jobs) is (made.spec.steps[0].condition is not None), "Spark, where SQL decides"
    assert {each.delay: each.late[:2] for each in exact.prices} == {
        delay: (count, count) for delay, count in truth.items()
    }
    assert exact.prices[0].late.entered == sum(each["enters"] for each in sent)
    assert not any("bounds" in each for each in exact.notes), "all were read"
    largest = max(row["state_rows"] for row in made.ops("batches"))
    now = next(each for each in exact.prices if each.delay == made.spec.watermark_delay)
    assert now.state_rows == largest


def test_the_batch_of_a_row_is_found_in_the_same_root(drained):
    made, _ = drained
    column = "window_end" if made.spec.steps[0].grouping_window else "at"
    newest = max(row[column] for row in made.table())
    found = since(made.spec, made.settings.root, f"{column} >= '{newest.isoformat()}'")
    [change] = found.changes
    [(version, said, look)] = change.causes
    [account] = [row for row in made.ops("batches") if row["table_version"] == version]
    assert said.startswith(f"batch {account['batch_id']} of run run-2, ")
    assert [row[column] for row, _ in found.rows] == [iso(newest, " ")]
    assert bool(look) is bool(account["read"])


def test_where_finds_the_records_of_a_row_by_what_bisect_says(drained):
    made, sent = drained
    group = made.spec.steps[0].grouping_window is not None
    column = "window_end" if group else "at"
    row = sorted(made.table(), key=lambda each: each[column])[len(made.table()) // 2]
    wrong = f"{column} = '{row[column].isoformat()}'"
    [(_, look)] = since(made.spec, made.settings.root, wrong).rows
    *words, key = shlex.split(look)
    assert words == ["sluice", "where", made.spec.name, "--key"]
    telling = Telling(made.spec, made.settings, asking(made.spec, made.settings))
    first, stop = (
        (us(row["window_start"]), us(row["window_end"])) if group else (us(row["at"]),) * 2
    )
    wanted = [
        Place(0, each["spot"])
        for each in sent
        if each["good"] and (first <= each["at"] < stop or first == stop == each["at"])
    ]
    assert wanted
    assert telling.by_key(key, 1_000) == wanted
