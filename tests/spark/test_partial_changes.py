"""Changes that say some fields alone, out of order, copied and cut into batches: the table is plain
Python's, whether delta-rs or Spark merges, and whatever is killed.
"""

import json
import random
from collections import Counter

import deltalake
import pytest
from confluent_kafka import Producer

from local.broker import create_topic
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.sink.keyed import driver
from spark_jobs.spec import Check, Field, Latest, Pipeline, Topic
from spark_jobs.storage import failpoint
from spark_jobs.table.published import table as published_table
from tests.harness.costs import made_once
from tests.harness.crash import Images, copied, over
from tests.harness.roots import ROOT, rows_of
from tests.harness.scene import Scene
from tests.harness.turns import alike

pytestmark = alike("a table that follows a key")

SAID = ("status", "note", "tags")
GONE = "__debezium_unavailable_value"
BY_COLUMN = {"note": f"note = '{GONE}'", "tags": "tags IS NULL"}
SPEC = Pipeline(
    name="orders_now",
    about="The present row of each order, from what each change says.",
    topic=Topic(
        name="orders",
        envelope="debezium",
        event_time="at",
        fields=(
            Field(name="order_id", type="bigint"),
            Field(name="version", type="bigint"),
            Field(name="gone", type="boolean", required=False),
            Field(name="status", type="string", required=False),
            Field(name="note", type="string", required=False),
            Field(name="tags", type="map<string,string>", required=False),
            Field(name="at", type="timestamp", part="timestamp"),
        ),
    ),
    steps=(
        Latest(keys=("order_id",), order_by=("version",), deletes="gone", missing="keep"),
    ),
    output_checks=(
        Check(type="expect_column_values_to_be_unique", kwargs={"column": "order_id"}),
    ),
)  # fmt: skip


def changes(seed, count):
    """In the order of their versions. Some lack fields, and some have null in them."""
    for version in range(1, count + 1):
        made = {"order_id": seed.randrange(25), "version": version}
        if seed.random() < 0.15:
            yield made | {"gone": True}
            continue
        said = {
            "status": seed.choice(["placed", "paid", None]),
            "note": seed.choice([f"n{version}", None]),
            "tags": {"v": str(version)},
        }
        yield made | dict(seed.sample([*said.items()], seed.randint(0, 3)))


def by_column(change):
    """As Debezium sends it: a note that it does not send is its placeholder."""
    return change if "gone" in change else {"note": GONE} | change


def said(change, missing):
    """The fields that it says, each with its value."""
    if missing == "keep":
        return {name: change[name] for name in SAID if change.get(name) is not None}
    row = {"status": change.get("status"), "note": change["note"], "tags": change.get("tags")}
    lacks = {"note": row["note"] == GONE, "tags": row["tags"] is None}
    return {name: value for name, value in row.items() if not lacks.get(name)}


def wanted(sent, missing):
    rows = {}
    for change in sorted(sent, key=lambda change: change["version"]):
        if change.get("gone"):
            rows[change["order_id"]] = None
            continue
        row = rows.get(change["order_id"]) or dict.fromkeys(SAID)
        rows[change["order_id"]] = row | said(change, missing)
    return {key: row for key, row in rows.items() if row}


class Sent:
    def __init__(self, made, missing):
        self.made, self.missing, self.changes = made, missing, []

    def send(self, some):
        if self.missing != "keep":
            some = [*map(by_column, some)]
        producer = Producer({"bootstrap.servers": self.made.kafka})
        for change in some:
            value = json.dumps({"before": None, "after": change, "op": "u"})
            producer.produce(self.made.topic, value, str(change["order_id"]))
        assert producer.flush(30) == 0
        self.changes += some

    def assert_exact(self, made):
        found = {
            row["order_id"]: {name: row[name] for name in SAID}
            for row in rows_of(made.paths.table)
            if not row["_sluice_deleted"]
        }
        for row in found.values():
            row["tags"] = None if row["tags"] is None else dict(row["tags"])
        assert found == wanted(self.changes, self.missing)
        sums = Counter()
        for row in made.ops("batches"):
            sums.update({name: n for name, n in row.items() if isinstance(n, int)})
        fates = ("inserted", "updated", "deleted", "absent", "superseded", "duplicates")
        assert sums["accepted"] == len(self.changes) == sum(sums[name] for name in fates)
        assert sums["unaccounted"] == 0
        assert sums["inserted"] - sums["deleted"] == len(found)


ENGINES = {"delta-rs": (50_000, BY_COLUMN), "spark": (0, "keep")}
"""Who merges -> the most changes that it may be in the driver, and what a change lacks."""


@pytest.fixture(scope="module")
def twice(kafka, as_submitted, tmp_path_factory):
    """Who merges -> two deliveries merged, and what a kill behind the second's commit leaves. A third
    waits, with a placeholder that the spec does not name.
    """

    @made_once
    def base(engine):
        folder, (most, missing) = tmp_path_factory.mktemp(engine), ENGINES[engine]
        step = SPEC.steps[0].model_copy(update={"missing": missing})
        spec = SPEC.model_copy(update={"steps": (step,)})
        made = Scene(kafka, folder, spec, partitions=2, checked=True)
        create_topic(kafka, made.topic, 2)
        seed, sent = random.Random(5), Sent(made, missing)
        every = [*changes(seed, 240)]
        seed.shuffle(every)
        sent.send(every[:100])
        images = Images(made, folder / "images")
        with pytest.MonkeyPatch.context() as by:
            by.setattr(driver, "MOST_CHANGES", most)
            made.run("first")
            sent.assert_exact(made)
            sent.send(every[100:200] + every[:20])
            by.setattr(failpoint, "at", images.at)
            made.run("second")
        sent.assert_exact(made)
        sent.send(every[200:])
        known = [*sent.changes]
        if missing != "keep":
            sent.send([{"order_id": 1, "version": 999, "status": GONE}])
        sent.changes[:] = known
        [image] = [image for (at, _), image in images.taken.items() if at == "table.committed"]
        return sent, image

    return base


@pytest.mark.parametrize("killed", [True, False], ids=["behind a kill", "in many batches"])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_table_is_plain_pythons_in_any_order(twice, tmp_path, monkeypatch, engine, killed):
    monkeypatch.setattr(driver, "MOST_CHANGES", ENGINES[engine][0])
    sent, image = twice(engine)
    made = over(sent.made, image, sent.made.spec) if killed else copied(sent.made, tmp_path / ROOT)
    made.change(max_offsets_per_batch=None if killed else 20)
    report = made.run("third")
    sent.assert_exact(made)
    assert ["status" in row["reason"] for row in made.ops("quarantine")] == [True] * (
        engine == "delta-rs"
    )
    published_table.move(made.paths, report.table_version, refuse_dead)
    shown = deltalake.DeltaTable(str(made.paths.published_table)).to_pyarrow_table()
    assert set(shown.column_names) == {*SPEC.topic.columns}
    if engine == "delta-rs" and not killed:
        rewind(made.spec, made.settings, 0).execute()
        made.run("behind the rewind")
        sent.assert_exact(made)
