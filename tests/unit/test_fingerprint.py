"""The fingerprint: what of a spec stored state depends on, and what it does not."""

import json
from typing import Any

import pytest

from spark_jobs import pipelines
from spark_jobs.fingerprint.fields import FROZEN, Declared, changes, fingerprint, in_force
from spark_jobs.registry import find as registry
from spark_jobs.spec import Field, Pipeline, Schedule, State, Topic, Transform, Tumbling
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
SHOPS = pipeline(steps=(group_state(),))


def renamed(path: str | tuple[str, ...]) -> Topic:
    """The topic, whose amount has these names in the records."""
    return topic(fields=(ID, AT, SHOP, AMOUNT.model_copy(update={"path": path})))


def difference(before: Pipeline, after: Pipeline, spark: str = "4.2.0") -> list[str]:
    return [
        str(change)
        for change in changes(
            fingerprint(before, "4.2.0"), fingerprint(after, spark), Declared(after)
        )
    ]


# Two specs, and the lines that tell them apart.
REFUSED: dict[str, tuple[Pipeline, Pipeline, list[str]]] = {
    "another key of the same type": (
        pipeline(),
        pipeline(steps=(deduplicate(keys=("shop",)), aggregate())),
        ["steps[0].keys: was ['id'], is ['shop']"],
    ),
    "keys in another order": (
        pipeline(steps=(deduplicate(keys=("id", "shop")),)),
        pipeline(steps=(deduplicate(keys=("shop", "id")),)),
        ["steps[0].keys: was ['id', 'shop'], is ['shop', 'id']"],
    ),
    "sum became max": (
        pipeline(),
        pipeline(
            steps=(
                deduplicate(),
                aggregate(measures={"sales": "count(*)", "turnover": "max(amount)"}),
            )
        ),
        [
            "steps[1].measures: was [['sales', 'count(*)'], ['turnover', 'sum(amount)']], "
            "is [['sales', 'count(*)'], ['turnover', 'max(amount)']]"
        ],
    ),
    "measures in another order, which state tells by their places": (
        pipeline(),
        pipeline(
            steps=(
                deduplicate(),
                aggregate(measures={"turnover": "sum(amount)", "sales": "count(*)"}),
            )
        ),
        [
            "steps[1].measures: was [['sales', 'count(*)'], ['turnover', 'sum(amount)']], "
            "is [['turnover', 'sum(amount)'], ['sales', 'count(*)']]"
        ],
    ),
    "another number of buckets": (
        pipeline(steps=(in_buckets(),), state=State(budget_rows=9)),
        pipeline(steps=(in_buckets(buckets=9),), state=State(budget_rows=9)),
        ["steps[0].buckets: was 8, is 9"],
    ),
    "a window of another size": (
        pipeline(),
        pipeline(steps=(deduplicate(), aggregate(window=Tumbling(size="10 minutes")))),
        [
            "steps[1].window: was {'kind': 'tumbling', 'size': '1 hour'}, is {'kind': 'tumbling', "
            "'size': '10 minutes'}"
        ],
    ),
    "a step more": (
        pipeline(steps=(deduplicate(),)),
        pipeline(steps=(WHERE, deduplicate())),
        [
            "steps[0].keys: was ['id'], is '(absent)'",
            "steps[0].kind: was 'deduplicate', is 'transform'",
            "steps[0].scope: was 'watermark', is '(absent)'",
            "steps[0].where: was '(absent)', is 'amount > 0'",
            "steps[1].keys: was '(absent)', is ['id']",
            "steps[1].kind: was '(absent)', is 'deduplicate'",
            "steps[1].scope: was '(absent)', is 'watermark'",
        ],
    ),
    "another condition": (
        pipeline(steps=(WHERE, deduplicate())),
        pipeline(steps=(Transform(where="amount > 9"), deduplicate())),
        ["steps[0].where: was 'amount > 0', is 'amount > 9'"],
    ),
    "kept for ever": (
        pipeline(steps=(deduplicate(),)),
        pipeline(steps=(deduplicate(scope="for_ever"),), state=State(budget_rows=9)),
        ["steps[0].scope: was 'watermark', is 'for_ever'"],
    ),
    "another processor": (
        SHOPS,
        pipeline(steps=(group_state(processor="Stores"),)),
        ["steps[0].processor: was 'Shops', is 'Stores'"],
    ),
    "another column from the processor": (
        SHOPS,
        pipeline(steps=(group_state(output=(Field(name="store", type="string"),)),)),
        [
            "steps[0].output: was [{'name': 'shop', 'type': 'string', 'required': True}], "
            "is [{'name': 'store', 'type': 'string', 'required': True}]"
        ],
    ),
    "a field of another type": (
        pipeline(),
        pipeline(
            topic=topic(fields=(ID, AT, SHOP, Field(name="amount", type="double", required=False)))
        ),
        [
            "topic.fields.amount: was 'bigint', is 'double' (columns of a Delta table that delta-rs "
            "writes keep their type)"
        ],
    ),
    "a field less": (
        pipeline(topic=topic(fields=LATER)),
        pipeline(),
        [
            "topic.fields.later: was 'timestamp', is '(absent)' (its column would stay; declared "
            "with required=False it is null from now on)"
        ],
    ),
    "a name less of a field that was renamed": (
        pipeline(topic=renamed(("sum", "amount"))),
        pipeline(topic=renamed("sum")),
        ["topic.fields.amount.path: was ['sum', 'amount'], is ['sum']"],
    ),
    "its names in another order": (
        pipeline(topic=renamed(("sum", "amount"))),
        pipeline(topic=renamed(("amount", "sum"))),
        ["topic.fields.amount.path: was ['sum', 'amount'], is ['amount', 'sum']"],
    ),
    "another event time": (
        pipeline(topic=topic(fields=LATER)),
        pipeline(topic=topic(fields=LATER, event_time="later")),
        ["topic.event_time: was 'at', is 'later'"],
    ),
    "another topic": (
        pipeline(),
        pipeline(topic=topic(name="returns")),
        ["topic.name: was 'sales', is 'returns'"],
    ),
    "a field more where the whole row is the key": (
        pipeline(steps=(deduplicate(keys=("*",)),)),
        pipeline(topic=topic(fields=LATER), steps=(deduplicate(keys=("*",)),)),
        ["topic.fields.later: was '(absent)', is 'timestamp'"],
    ),
}
WARNED: dict[str, tuple[Pipeline, Pipeline, list[str]]] = {
    "a field more": (
        pipeline(),
        pipeline(topic=topic(fields=LATER)),
        ["topic.fields.later: was '(absent)', is 'timestamp', from the next"],
    ),
    "a field renamed in the records": (
        pipeline(),
        pipeline(topic=renamed(("sum", "amount"))),
        ["topic.fields.amount.path: was '(absent)', is ['sum', 'amount'], from the next"],
    ),
    "another watermark delay": (
        pipeline(),
        pipeline(watermark_delay="3 hours"),
        ["watermark_delay: was '2:00:00', is '3:00:00', from the next batch on"],
    ),
    "another store": (
        pipeline(),
        pipeline(state=State(provider="hdfs")),
        [
            "state.format: the spec sets 1; the checkpoint uses 2",
            "state.provider: the spec sets 'hdfs'; the checkpoint uses 'rocksdb'",
        ],
    ),
    "other shuffle partitions": (
        pipeline(),
        pipeline(state=State(shuffle_partitions=4)),
        [
            "state.shuffle_partitions: the spec sets 4; the checkpoint uses 2, until "
            "`sluice repartition` moves the state to 4 stores; or set 2 in spec.py"
        ],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_change_of_what_state_depends_on_is_named_field_by_field(case: str) -> None:
    before, after, lines = REFUSED[case]
    assert difference(before, after) == lines
    found = changes(fingerprint(before, "4.2.0"), fingerprint(after, "4.2.0"), Declared(after))
    assert {change.weight for change in found} == {"refused"}


@pytest.mark.parametrize("case", WARNED)
def test_a_change_that_state_bears_is_said_with_what_it_means(case: str) -> None:
    before, after, said = WARNED[case]
    found = changes(fingerprint(before, "4.2.0"), fingerprint(after, "4.2.0"), Declared(after))
    assert [change.weight for change in found] == ["warned"] * len(said)
    assert [
        part
        for part, change in zip(said, found, strict=True)
        if not change.meaning.startswith(part)
    ] == []


def test_a_frozen_field_says_the_command_that_takes_the_new_value() -> None:
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


def test_what_the_checkpoint_froze_stays_in_force() -> None:
    spec = in_force(
        pipeline(state=State(provider="hdfs", shuffle_partitions=9)),
        fingerprint(pipeline(), "4.2.0"),
    )
    assert (spec.state.provider, spec.state.format, spec.state.shuffle_partitions) == (
        "rocksdb",
        2,
        2,
    )


def test_code_is_known_by_what_it_says_and_not_by_its_comments(tmp_path, monkeypatch):
    file = tmp_path / "sales_hourly" / "logic.py"
    file.parent.mkdir()
    monkeypatch.setattr(pipelines, "__path__", [str(tmp_path)])

    def digest(text: str) -> object:
        file.write_text(text)
        return fingerprint(SHOPS, "4.2.0")["logic"]

    first = digest('"""Shops."""\nclass Shops:\n    most = 5\n')
    assert first == digest(
        "# Other words.\nclass Shops:\n    'Said elsewhere.'\n    most = 5  # and here\n"
    )
    assert first != digest("class Shops:\n    most = 6\n")
    before = fingerprint(SHOPS, "4.2.0") | {"logic": first}
    for spec, weight in (
        (SHOPS, "refused"),
        (SHOPS.model_copy(update={"compatible_logic": (first,)}), "warned"),
    ):
        [change] = changes(before, fingerprint(spec, "4.2.0"), Declared(spec))
        assert (change.field, change.weight) == ("logic", weight)


def test_a_pipeline_without_code_of_its_own_has_none_to_change() -> None:
    assert "logic" not in fingerprint(pipeline(), "4.2.0")


def test_another_minor_version_of_spark_is_a_change_and_a_patch_is_none() -> None:
    assert difference(pipeline(), pipeline(), spark="4.2.7") == []
    assert difference(pipeline(), pipeline(), spark="4.3.0") == ["spark: was '4.2', is '4.3'"]


@pytest.mark.parametrize(
    ("version", "weight"),
    [("4.3.0", "warned"), ("4.10.1", "warned"), ("4.1.9", "refused"), ("5.0.0", "refused")],
)
def test_a_newer_minor_spark_is_a_recorded_change_and_an_older_or_a_major_one_is_refused(
    version, weight
):
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
        pipeline(
            topic=topic(
                fields=(
                    ID,
                    AT,
                    SHOP,
                    Field(name="amount", type="bigint", required=False, about="cents"),
                )
            )
        ),
    ],
    ids=["about", "batch size", "schedule", "budget", "max ahead", "a field's description"],
)
def test_a_change_that_state_does_not_depend_on_is_none(after: Pipeline) -> None:
    assert difference(pipeline(), after) == []


def test_the_description_of_an_output_column_may_change() -> None:
    after = pipeline(
        steps=(group_state(output=(Field(name="shop", type="string", about="its number"),)),)
    )
    assert difference(SHOPS, after) == []


@pytest.mark.parametrize("spec", registry.load_all(), ids=lambda spec: str(spec.name))
def test_a_fingerprint_is_the_same_after_it_was_written_and_read(spec: Pipeline) -> None:
    made = fingerprint(spec, "4.2.0")
    assert changes(json.loads(json.dumps(made, sort_keys=True)), made, Declared(spec)) == []
