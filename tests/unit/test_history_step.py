"""What a History refuses, and what it says of its columns."""

import pytest

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Field, History, Transform
from tests.harness.refused import fails
from tests.unit.specs import FIELDS, aggregate, pipeline, topic

STEP = History(keys=("id",), order_by=("at",))
AFTER = History(keys=("shop",), order_by=("window_end",))


def followed(*steps, fields=FIELDS, **changes):
    return pipeline(steps=steps, topic=topic(fields=fields), **{"watermark_delay": None} | changes)


def test_a_history_adds_the_columns_of_a_span():
    kept = Transform(where="amount > 0")
    spec = followed(kept, STEP)
    assert (spec.keyed, spec.before_state, spec.entry) == (STEP, (kept,), None)
    assert STEP.columns_after(("id", "at"))[2:] == ("valid_from", "valid_to", "current")
    types = STEP.types_after({"id": "string", "at": "timestamp"})
    assert (types["valid_from"], types["valid_to"], types["current"]) == (
        "timestamp",
        "timestamp",
        "boolean",
    )


def test_its_time_is_the_first_of_its_order_unless_told():
    assert STEP.time == "at"
    other = History(keys=("id",), order_by=("amount",), valid_from="at")
    assert (other.time, other.placed) == ("at", ("id", "amount", "at"))
    assert other.row_key == ("id", "amount")


TAKEN = (*FIELDS, Field(name="valid_to", type="timestamp", required=False))
BROKEN = (*FIELDS, Field(name="ratio", type="double"))


@pytest.mark.parametrize(
    ("field", "steps", "changes"),
    [
        ("History", (STEP,), {"fields": TAKEN}),
        ("History.keys", (History(keys=("ratio",), order_by=("at",)),), {"fields": BROKEN}),
        (
            "History.valid_from",
            (History(keys=("id",), order_by=("at",), valid_from="ratio"),),
            {"fields": BROKEN},
        ),
        (
            "History.valid_from",
            (History(keys=("id",), order_by=("at",), valid_from="nothing"),),
            {},
        ),
        ("steps", (STEP, Transform(where="amount > 0")), {}),
        ("steps", (aggregate(), AFTER), {"watermark_delay": "2 hours"}),
        ("output_mode", (STEP,), {"output_mode": "update"}),
    ],
    ids=[
        "a field has the name of a column that it adds", "a key that engines compare differently",
        "a time that they do", "a time that is no column", "a step behind it", "state before it",
        "an output mode",
    ],
)  # fmt: skip
def test_a_spec_with_a_history_is_refused(field, steps, changes):
    with fails(SpecInvalid, "fields_refused", fields=field):
        followed(*steps, **changes)


@pytest.mark.parametrize(
    ("field", "keys", "order_by"),
    [
        ("keys", (), ("at",)),
        ("order_by", ("id",), ()),
        ("keys", ("id", "id"), ("at",)),
        ("order_by", ("id",), ("id",)),
        ("keys", ("_sluice_x",), ("at",)),
    ],
    ids=["no key", "no order", "a key twice", "a key as the order", "a name of Sluice's"],
)
def test_a_history_is_refused(field, keys, order_by):
    with fails(SpecInvalid, "fields_refused", fields=field):
        History(keys=keys, order_by=order_by)
