"""The fingerprint: what of a spec stored state depends on, and what it does not."""

import json
from typing import Any

import pytest

from spark_jobs import pipelines
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.fields import FROZEN, Declared, changes, fingerprint, in_force
from spark_jobs.spec import Field, Pipeline, Schedule, State, Transform, Tumbling
from tests.unit.specs import (
    FIELDS,
    aggregate,
    deduplicate,
    group_state,
    in_buckets,
    pipeline,
    topic,
)

ID, AT, SHOP, AMOUNT = FIELDS
LATER = (*FIELDS, Field(name="later", type="timestamp"))
WHERE = Transform(where="amount > 0")
SALES, SHOPS = pipeline(), pipeline(steps=(group_state(),))
MOST = State(budget_rows=9)


def by(*steps: Any, **more: Any) -> Pipeline:
    return pipeline(steps=steps, **more)


def measuring(**measures: str) -> Pipeline:
    return by(deduplicate(), aggregate(measures=measures, counts="sales"))


def of(*fields: Field, **more: Any) -> Pipeline:
    """Of a topic with these fields in the place of the amount."""
    return pipeline(topic=topic(fields=(ID, AT, SHOP, *fields)), **more)


def renamed(*path: str) -> Pipeline:
    """The amount has these names in the records."""
    return of(AMOUNT.model_copy(update={"path": path[0] if len(path) == 1 else path}))


def difference(before: Pipeline, after: Pipeline, spark: str = "4.2.0") -> list[str]:
    return [
        str(change)
        for change in changes(
            fingerprint(before, "4.2.0"), fingerprint(after, spark), Declared(after)
        )
    ]


KINDS = ["steps[0].keys", "steps[0].kind", "steps[0].scope", "steps[0].where"]
KINDS += ["steps[1].keys", "steps[1].kind", "steps[1].scope"]
# Two specs, and the fields that tell them apart.
REFUSED: dict[str, tuple[Pipeline, Pipeline, list[str]]] = {
    "another key of the same type": (SALES, by(deduplicate(keys=("shop",)), aggregate()), KINDS[:1]),
    "keys in another order": (by(deduplicate(keys=("id", "shop"))), by(deduplicate(keys=("shop", "id"))), KINDS[:1]),
    "sum became max": (SALES, measuring(sales="count(*)", turnover="max(amount)"), ["steps[1].measures"]),
    "measures in another order, which state tells by their places": (SALES, measuring(turnover="sum(amount)", sales="count(*)"), ["steps[1].measures"]),
    "another number of buckets": (by(in_buckets(), state=MOST), by(in_buckets(buckets=9), state=MOST), ["steps[0].buckets"]),
    "a window of another size": (SALES, by(deduplicate(), aggregate(window=Tumbling(size="10 minutes"))), ["steps[1].window"]),
    "a step more": (by(deduplicate()), by(WHERE, deduplicate()), KINDS),
    "another condition": (by(WHERE, deduplicate()), by(Transform(where="amount > 9"), deduplicate()), KINDS[3:4]),
    "kept for ever": (by(deduplicate()), by(deduplicate(scope="for_ever"), state=MOST), KINDS[2:3]),
    "another processor": (SHOPS, by(group_state(processor="Stores")), ["steps[0].processor"]),
    "another column from the processor": (SHOPS, by(group_state(output=(Field(name="store", type="string"),))), ["steps[0].output"]),
    "a field of another type": (SALES, of(Field(name="amount", type="double", required=False)), ["topic.fields.amount"]),
    "a field less": (pipeline(topic=topic(fields=LATER)), SALES, ["topic.fields.later"]),
    "a name less of a field that was renamed": (renamed("sum", "amount"), renamed("sum"), ["topic.fields.amount.path"]),
    "its names in another order": (renamed("sum", "amount"), renamed("amount", "sum"), ["topic.fields.amount.path"]),
    "another event time": (pipeline(topic=topic(fields=LATER)), pipeline(topic=topic(fields=LATER, event_time="later")), ["topic.event_time"]),
    "another topic": (SALES, pipeline(topic=topic(name="returns")), ["topic.name"]),
    "a field more where the whole row is the key": (
        by(deduplicate(keys=("*",))),
        by(deduplicate(keys=("*",)), topic=topic(fields=LATER)),
        ["topic.fields.later"],
    ),
}  # fmt: skip
WARNED: dict[str, tuple[Pipeline, Pipeline, list[str]]] = {
    "a field more": (
        SALES,
        pipeline(topic=topic(fields=LATER)),
        ["topic.fields.later: was '(absent)', is 'timestamp', from the next"],
    ),
    "a field renamed in the records": (
        SALES,
        renamed("sum", "amount"),
        ["topic.fields.amount.path: was '(absent)', is ['sum', 'amount'], from the next"],
    ),
    "another watermark delay": (
        SALES,
        pipeline(watermark_delay="3 hours"),
        ["watermark_delay: was '2:00:00', is '3:00:00', from the next batch on"],
    ),
    "another store": (
        SALES,
        pipeline(state=State(provider="hdfs")),
        [
            "state.format: the spec sets 1; the checkpoint uses 2",
            "state.provider: the spec sets 'hdfs'; the checkpoint uses 'rocksdb'",
        ],
    ),
    "other shuffle partitions": (
        SALES,
        pipeline(state=State(shuffle_partitions=4)),
        [
            "state.shuffle_partitions: the spec sets 4; the checkpoint uses 2, until "
            "`sluice repartition` moves the state to 4 stores; or set 2 in spec.py"
        ],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_change_of_what_state_depends_on_is_named_field_by_field(case):
    before, after, fields = REFUSED[case]
    found = changes(fingerprint(before, "4.2.0"), fingerprint(after, "4.2.0"), Declared(after))
    assert [change.field for change in found] == fields
    assert {change.weight for change in found} == {"refused"}


def test_a_change_is_told_with_what_was_and_what_is():
    assert difference(SALES, measuring(sales="count(*)", turnover="max(amount)")) == [
        "steps[1].measures: was [['sales', 'count(*)'], ['turnover', 'sum(amount)']], "
        "is [['sales', 'count(*)'], ['turnover', 'max(amount)']]"
    ]
    assert difference(by(deduplicate()), by(WHERE, deduplicate()))[:2] == [
        "steps[0].keys: was ['id'], is '(absent)'",
        "steps[0].kind: was 'deduplicate', is 'transform'",
    ]


@pytest.mark.parametrize("case", WARNED)
def test_a_change_that_state_bears_is_said_with_what_it_means(case):
    before, after, said = WARNED[case]
    found = changes(fingerprint(before, "4.2.0"), fingerprint(after, "4.2.0"), Declared(after))
    assert [change.weight for change in found] == ["warned"] * len(said)
    assert [
        part
        for part, change in zip(said, found, strict=True)
        if not change.meaning.startswith(part)
    ] == []


def test_a_frozen_field_says_the_command_that_takes_the_new_value():
    # A raised state.version alone ends with CHECKPOINT_FOREIGN: the table belongs to the old
    # checkpoint.
    frozen = [
        changes(fingerprint(before, "4.2.0"), fingerprint(after, "4.2.0"), Declared(after))
        for before, after, _ in WARNED.values()
    ]
    commands = dict.fromkeys(FROZEN, "`sluice reset`") | {FROZEN[0]: "`sluice repartition`"}
    said = [
        (commands[change.field], change.meaning)
        for found in frozen
        for change in found
        if change.field in FROZEN
    ]
    assert {command for command, _ in said} == {*commands.values()}
    wrong = [line for command, line in said if command not in line or "state.version" in line]
    assert wrong == []


@pytest.mark.parametrize(
    ("state", "stored", "says"),
    [
        ({}, {"state.format": 1}, "`sluice rebuild` computes this one anew in 4 stores"),
        ({"provider": "hdfs"}, {}, "`sluice rebuild` computes this one anew in 4 stores"),
        (None, {}, "no step keeps state, so nothing depends on it"),
    ],
)
def test_no_line_names_a_repartition_that_would_be_refused(state, stored, says):
    without: dict[str, Any] = {"steps": (Transform(where="amount > 0"),), "watermark_delay": None}
    rest = without if state is None else {}
    before = pipeline(state=State(**(state or {})), **rest)
    after = pipeline(state=State(**(state or {}), shuffle_partitions=4), **rest)
    found = changes(
        fingerprint(before, "4.2.0") | stored, fingerprint(after, "4.2.0"), Declared(after)
    )
    (line,) = [each.meaning for each in found if each.field == FROZEN[0]]
    assert says in line
    assert "`sluice repartition` moves the state" not in line
    assert line.endswith("or set 2 in spec.py")


def test_what_the_checkpoint_froze_stays_in_force():
    spec = in_force(
        pipeline(state=State(provider="hdfs", shuffle_partitions=9)),
        fingerprint(pipeline(), "4.2.0"),
    )
    assert (spec.state.provider, spec.state.format, spec.state.shuffle_partitions) == (
        "rocksdb",
        2,
        2,
    )


def test_code_is_known_by_its_bytes(tmp_path, monkeypatch):
    file = tmp_path / "sales_hourly" / "logic.py"
    file.parent.mkdir()
    monkeypatch.setattr(pipelines, "__path__", [str(tmp_path)])

    def digest(text: str) -> object:
        file.write_text(text)
        return fingerprint(SHOPS, "4.2.0")["logic"]

    first = digest("class Shops:\n    most = 5\n")
    assert first != digest("class Shops:\n    most = 6\n")
    before = fingerprint(SHOPS, "4.2.0") | {"logic": first}
    for spec, weight in (
        (SHOPS, "refused"),
        (SHOPS.model_copy(update={"compatible_logic": (first,)}), "warned"),
    ):
        [change] = changes(before, fingerprint(spec, "4.2.0"), Declared(spec))
        assert (change.field, change.weight) == ("logic", weight)


def test_a_pipeline_without_code_of_its_own_has_none_to_change():
    assert "logic" not in fingerprint(pipeline(), "4.2.0")


def test_another_minor_version_of_spark_is_a_change_and_a_patch_is_none():
    assert difference(pipeline(), pipeline(), spark="4.2.7") == []
    assert difference(pipeline(), pipeline(), spark="4.3.0") == ["spark: was '4.2', is '4.3'"]


@pytest.mark.parametrize(
    ("version", "weight"),
    [("4.3.0", "warned"), ("4.10.1", "warned"), ("4.1.9", "refused"), ("5.0.0", "refused")],
)
def test_a_newer_minor_spark_is_a_recorded_change_an_older_or_a_major_is_refused(version, weight):
    spec = pipeline()
    [change] = changes(fingerprint(spec, "4.2.0"), fingerprint(spec, version), Declared(spec))
    assert (change.field, change.weight) == ("spark", weight)
    assert weight == "refused" or "cannot resume it any more" in change.meaning


@pytest.mark.parametrize(
    "after",
    [
        pipeline(about="Other words."),
        pipeline(max_offsets_per_batch=5),
        pipeline(schedule=Schedule(cron="0 6 * * *")),
        pipeline(state=State(version=1, budget_rows=5)),
        pipeline(topic=topic(max_ahead="1 hour")),
        of(Field(name="amount", type="bigint", required=False, about="cents")),
    ],
    ids=["about", "batch size", "schedule", "budget", "max ahead", "a field's description"],
)
def test_a_change_that_state_does_not_depend_on_is_none(after):
    assert difference(SALES, after) == []


def test_the_description_of_an_output_column_may_change():
    after = pipeline(
        steps=(group_state(output=(Field(name="shop", type="string", about="its number"),)),)
    )
    assert difference(SHOPS, after) == []


@pytest.mark.parametrize("spec", registry.load_all(), ids=lambda spec: str(spec.name))
def test_a_fingerprint_is_the_same_after_it_was_written_and_read(spec):
    made = fingerprint(spec, "4.2.0")
    assert changes(json.loads(json.dumps(made, sort_keys=True)), made, Declared(spec)) == []
