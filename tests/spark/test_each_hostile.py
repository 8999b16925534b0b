"""Values that no list of records was meant to be: each is counted once, and hides no other."""

import json
from contextlib import suppress
from datetime import timedelta
from itertools import groupby

from spark_jobs.repair.undo import undo
from spark_jobs.source.place import Place
from spark_jobs.spec import Aggregate, Deduplicate, Transform, Tumbling
from spark_jobs.storage import failpoint
from tests.harness.turns import alike
from tests.spark.test_each import BAD, FIELDS, RULED, SPEC, START, Logs, record, value
from tests.spark.test_repair import Repairs

pytestmark = alike("a value with many records")
HOUR = timedelta(hours=1)
DISTINCT = SPEC.model_copy(
    update={
        "topic": RULED.model_copy(update={"tombstones": "dropped"}),
        "steps": (
            Transform(where="body <> 'dropped'"),
            Deduplicate(keys=("nanos", "body", "service")),
            Aggregate(keys=("service",), window=Tumbling(size=HOUR),
                      measures={"n": "count(*)", "nanos": "max(nanos)"}, counts="n"),
        ),
    }
)  # fmt: skip
LARGE = 6_000_000
HOSTILE = {
    "list null": ({"resourceLogs": None}, (0, 0, 1)),
    "list of null": ({"resourceLogs": [None]}, (1, 0, 0)),
    "list of scalars": ({"resourceLogs": [5, "x"]}, (2, 0, 0)),
    "inner list empty": ({"resourceLogs": [{"scopeLogs": []}, {}]}, (0, 1, 0)),
    "inner list null": ({"resourceLogs": [{"scopeLogs": None}]}, (0, 1, 0)),
    "inner list a map": ({"resourceLogs": [{"scopeLogs": {"a": []}}]}, (1, 0, 0)),
    "list in a map": ({"resourceLogs": {"a": [1]}}, (0, 0, 1)),
    "elements no objects": (value([5, None, "x", [record(1)], record(2)]), (5, 0, 0)),
    "no such way": ({"resource_logs": []}, (0, 0, 1)),
    "a list": ([record(1)], (0, 0, 1)),
    "no bytes": (b"", (0, 0, 1)),
    "cut": (json.dumps(value([record(1)])).encode()[:-3], (0, 0, 1)),
    "two": (json.dumps(value([record(1)])).encode() * 2, (0, 0, 1)),
    "bytes": (b"\xff\xfe", (0, 0, 1)),
    "a key twice": (b'{"resourceLogs": [], "resourceLogs": null}', (0, 0, 1)),
    "deep": (b'{"resourceLogs": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", (0, 0, 1)),
    "copies": (value([record(1, "a")] * 4), (4, 0, 0)),
}
"""A value -> elements, whether it is empty, whether it is refused."""


def test_each_value_is_counted_once_and_a_bad_element_of_a_large_one_comes_back_once(
    kafka, tmp_path, monkeypatch
):
    logs = Logs(kafka, tmp_path, DISTINCT)
    logs.send(*(given for given, _ in HOSTILE.values()))
    bad = [record(3, "x" * LARGE), BAD, record(4, "9"), record(5, "ok")]
    large, end = value(bad, service="large"), value([record(400)])
    logs.send(large, large, end)
    logs.made.run("first")
    counted = logs.account("first")
    sums = [sum(each[n] for _, each in HOSTILE.values()) for n in range(3)]
    assert [counted[name] for name in ("elements", "empty", "refused")] == [sums[0] + 9, *sums[1:]]
    assert rows(logs) == {"api": 2, "large": 2}, "copies within a value and of it are dropped"

    kept = sorted(logs.made.ops("quarantine"), key=place)
    for _, of_value in groupby(kept, key=lambda row: place(row)[:2]):
        first, *others = of_value
        assert first["value"] is not None
        assert [row["value"] for row in others] == [None] * len(others)
    assert sum(len(row["value"] or b"") > LARGE for row in kept) == 2

    logs.made.change(
        topic=DISTINCT.topic.model_copy(update={"name": logs.made.topic, "fields": FIELDS})
    )
    repairs = Repairs(logs.made)
    repairs.stage(plan := repairs.plan("replay"))
    with monkeypatch.context() as killed, suppress(failpoint.Failure):
        killed.setitem(failpoint.ACTIVE, "swap.committed", "raise")
        repairs.swap(plan)
    repairs.swap(plan)
    assert rows(logs) == {"api": 2, "large": 3}
    assert sorted(row["fate"] for row in logs.made.ops("merged")) == ["duplicate", "merged"]
    assert repairs.plan("replay").idle, "what is bad by every spec waits no more"
    undo(logs.made.spec, logs.made.settings.root, plan.repair_id, "undo")
    assert rows(logs) == {"api": 2, "large": 2}
    repairs.done("replay")
    assert rows(logs) == {"api": 2, "large": 3}
    assert logs.made.run("nothing new").account.read == 0


def place(row):
    return Place.of_row(row)


def rows(logs):
    """The records of each service in the first hour."""
    return {row["service"]: row["n"] for row in logs.made.table() if row["window_start"] == START}
