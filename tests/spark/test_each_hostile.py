"""Values that no list of records was meant to be: each is counted once, and hides no other."""

import json
from datetime import timedelta

from spark_jobs.spec import Aggregate, Deduplicate, Transform, Tumbling
from tests.spark.test_each import BAD, RULED, SPEC, Logs, record, value

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
    "list of null": ({"resourceLogs": [None]}, (0, 1, 0)),
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


def test_each_value_is_counted_once_and_a_bad_element_comes_back_once(kafka, tmp_path, monkeypatch):
    logs = Logs(kafka, tmp_path, DISTINCT)
    wanted = {}
    for number, (name, (given, counted)) in enumerate(HOSTILE.items()):
        logs.send(given)
        wanted[name] = counted
    large = value([record(3, "x" * LARGE), BAD, record(4, "9"), record(5, "ok")], service="large")
    logs.send(large, large, value([record(400)]))
    logs.made.run("first")
    counted = logs.account("first")
    sums = [sum(each[n] for each in wanted.values()) for n in range(3)]
    assert [counted[name] for name in ("elements", "empty", "refused")] == [sums[0] + 9, *sums[1:]]
    by_place = {}
    for row in logs.made.ops("quarantine"):
        by_place.setdefault((row["partition"], row["offset"]), []).append(row)
    for rows in by_place.values():
        rows.sort(key=lambda row: -1 if row["element"] is None else row["element"])
        assert [bool(row["value"] is not None or row["left_out"]) for row in rows[1:]] == [False] * (len(rows) - 1)
    print(counted, [(k, [(r["element"], r["reason"][:60], r["left_out"], r["value"] and len(r["value"])) for r in v]) for k, v in by_place.items()], logs.rows())
