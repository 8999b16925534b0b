"""`sluice new` over odd samples: a draft that runs as it is written, or a refusal with a code."""

import json

import pytest
from hypothesis import given, settings, strategies as st

from spark_jobs.decode.schemas.protoc import descriptor_set
from spark_jobs.decode.schemas.registry import Registered
from spark_jobs.decode.schemas.schema import Schema
from spark_jobs.draft import avro_schema, protobuf_schema
from spark_jobs.draft.drafted import draft
from spark_jobs.draft.fields import LEFT_OUT
from spark_jobs.draft.golden import golden
from spark_jobs.draft.leaf import MOST
from spark_jobs.draft.sample import Sampled
from spark_jobs.errors import SluiceError
from tests.harness.long_form import examples
from tests.harness.schemas import framed, keep
from tests.unit.test_new import order, sampled, written

KEYS = st.one_of(
    st.sampled_from([
        "id", "op", "after", "before", "source", "payload", "schema", "data", "specversion", "type",
        "ts_ms", "$oid", "", ".", "\ud800", "a\udfffb", "_sluice", "kafka", "left out", "fields",
    ]),
    st.text(st.characters(), max_size=4),
)  # fmt: skip
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters(), max_size=5),
        st.sampled_from([10**400, -(2**63), 2**63, 1783078553473, 1e300, "2026-03-01T10:00:00Z",
                         "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z", "9" * 19, '{"a": 1}']),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
RECORDS = st.lists(st.dictionaries(KEYS, VALUES, max_size=6), min_size=1, max_size=6)
ENVELOPED = st.builds(
    lambda around, rows: [around | row for row in rows],
    st.sampled_from([
        {"op": "c", "after": {"id": 1}}, {"op": "u", "after": "{}", "before": None},
        {"specversion": "1.0", "id": "1", "source": "s", "type": "t"}, {"id": "a"},
    ]),
    RECORDS,
)  # fmt: skip


def drafts_or_refuses(values, root="", keys=None):
    """The draft; None where it is refused in words."""
    try:
        made = draft("orders", "orders", sampled(values, keys), root)
    except SluiceError:
        return None
    assert written(made) == made.spec
    golden(made, root)
    return made


@settings(max_examples=examples(150), deadline=None)
@given(st.one_of(RECORDS, ENVELOPED))
def test_of_any_objects_of_json_there_is_a_draft_or_a_refusal(values):
    drafts_or_refuses([json.dumps(each).encode() for each in values], keys=values)


def test_a_key_that_is_half_of_a_surrogate_pair_is_left_out_and_said():
    values = [order(n) for n in range(1_000)] + [order(1_000) | {"\ud800": 1}]
    made = draft("orders", "orders", sampled(values))
    assert [each.name for each in written(made).topic.fields][:2] == ["order_id", "placed_at"]
    assert "ud800" in made.notes[LEFT_OUT]


def test_of_many_keys_the_most_frequent_ones_are_drafted():
    values = [order(n) | {f"k{n}_{m}": 1 for m in range(50)} for n in range(100)]
    made = draft("orders", "orders", sampled(values))
    names = [each.name for each in made.spec.topic.fields]
    assert len(names) <= MOST
    assert {"order_id", "placed_at"} <= set(names)


def test_a_row_in_a_text_as_mongodbs_is_drafted_as_the_text_that_it_is():
    def change(n):
        after = {"_id": {"$oid": f"65a{n}"}, "n": {"$numberLong": str(n)}}
        source = {"connector": "mongodb", "ts_ms": 1772359200000 + n, "ord": n}
        return {"before": None, "after": json.dumps(after), "source": source, "op": "c",
                "ts_ms": 1772359200009 + n, "transaction": None}  # fmt: skip

    made = drafts_or_refuses([*map(change, range(60))])
    assert made
    fields = {each.name: each.type for each in made.spec.topic.fields}
    assert (made.spec.topic.envelope, fields["after"]) == (None, "string")


@pytest.mark.parametrize("fields", [15, 40])
def test_a_record_of_avro_with_many_fields_of_its_own_type_has_a_bounded_draft(fields):
    own = [{"name": f"f{n}", "type": ["null", "Tree"]} for n in range(fields)]
    tree = {"type": "record", "name": "Tree", "fields": own}
    found = avro_schema.layout(Schema("AVRO", json.dumps(tree), (), None))
    assert fields <= len(found.row) <= MOST
    assert len({path[0] for path in found.row}) == fields


def test_a_message_of_protobuf_with_many_fields_of_its_own_type_has_a_bounded_draft():
    own = " ".join(f"Tree f{n} = {n};" for n in range(1, 21))
    descriptor = descriptor_set(f'syntax = "proto3"; message Tree {{ {own} }}')
    found = protobuf_schema.layout(Schema("PROTOBUF", "", (), descriptor), "Tree")
    assert found
    assert 20 <= len(found.row) <= MOST


NAMES = st.one_of(
    st.sampled_from(["a", "id", "op", "after", "\ud800", 'q"', "", "0"]), st.text(max_size=3)
)
TYPES = st.recursive(
    st.sampled_from([
        "null", "int", "long", "double", "bytes", "string", "Own", ["null", "Own"], ["null"], [],
        {"type": "long", "logicalType": "timestamp-millis"}, {"type": "array", "items": "Own"},
        {"type": "bytes", "logicalType": "decimal", "precision": 99, "scale": 3}, 7, None,
    ]),
    lambda inner: st.builds(lambda each: {"type": "array", "items": each}, inner)
    | st.lists(inner, max_size=3),
    max_leaves=4,
)  # fmt: skip
FIELDS = st.lists(st.fixed_dictionaries({"name": NAMES, "type": TYPES}), max_size=6)


@settings(max_examples=examples(80), deadline=None)
@given(fields=FIELDS, content=st.binary(max_size=30))
def test_of_any_schema_of_avro_that_is_kept_there_is_a_draft_or_a_refusal(
    tmp_path_factory, fields, content
):
    root = tmp_path_factory.mktemp("root")
    text = json.dumps({"type": "record", "name": "Own", "fields": fields})
    try:
        keep(root, {7: Registered("AVRO", text, ())})
    except SluiceError:
        return
    drafts_or_refuses([framed(7, content)] * 3, str(root))


def test_a_sample_with_kafka_timestamps_that_are_no_times_is_declared():
    """A producer's nanoseconds, and a broker's none."""
    values = [json.dumps({"id": f"i-{n}", "at": f"2026-03-01T12:{n:02}:00Z"}) for n in range(20)]
    stamps = [1_772_366_400_000_000_000, -1, 2**63 - 1, -(2**63)] * 5
    sample = [
        Sampled(0, n, stamp, None, value.encode())
        for n, (stamp, value) in enumerate(zip(stamps, values, strict=True))
    ]
    made = draft("x", "x", sample)
    assert (made.spec.topic.event_time, made.tried.malformed.total()) == ("at", 0)


def test_a_guessed_key_of_debezium_is_of_a_type_that_a_latest_compares():
    rows = [{"tags": ["a"], "weight": n + 0.5, "paid": True, "name": f"n-{n}"} for n in range(20)]
    sample = [
        Sampled(0, n, 1_772_366_400_000 + n, None, json.dumps(change).encode())
        for n, row in enumerate(rows)
        if (change := {"op": "u", "before": None, "after": row, "ts_ms": 1_772_366_400_000 + n})
    ]
    [step] = draft("x", "x", sample).spec.steps
    assert step.keys == ("name",)
