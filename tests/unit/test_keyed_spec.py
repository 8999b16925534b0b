"""What a table that follows a key asks of its topic."""

import pytest

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Field, History, Latest, Pipeline, Topic, Transform
from tests.harness.refused import fails
from tests.unit.drains import SPEC

STATUS = Field(name="status", type="string", required=False)


def topic(**changes):
    given = {
        "name": "orders",
        "event_time": "at",
        "fields": (
            Field(name="id", type="string", part="key"),
            Field(name="at", type="timestamp", part="timestamp"),
            Field(name="lsn", type="bigint", required=False),
            STATUS,
        ),
    }
    return Topic(**given | changes)


def spec(*steps, **changes):
    return Pipeline(name="orders_now", about="Orders.", topic=topic(**changes), steps=steps)


LATEST = Latest(keys=("id",), order_by=("lsn",))
HISTORY = History(keys=("id",), order_by=("lsn",), valid_from="at")


@pytest.mark.parametrize("step", [LATEST, HISTORY], ids=["latest", "history"])
def test_dropped_tombstones_must_not_be_the_only_deletes(step):
    with fails(SpecInvalid, "fields_refused"):
        spec(step, tombstones="dropped")
    assert spec(step).topic.tombstones == "malformed"
    assert spec(step.model_copy(update={"deletes": "status = 'gone'"}), tombstones="dropped")
    assert spec(step, tombstones="dropped", envelope="debezium")


def required(made):
    return {field.name for field in made.topic.fields if field.required}


@pytest.mark.parametrize("step", [LATEST, HISTORY], ids=["latest", "history"])
def test_what_changes_are_placed_by_is_required_of_a_record(step):
    assert required(spec(step)) == {"id", "at", "lsn"}
    assert required(spec(Transform(where="lsn is not null"), step)) == {"id", "at"}
    assert SPEC.topic.fields == Pipeline(**dict(SPEC)).topic.fields


@pytest.mark.parametrize(
    "missing",
    [
        {},
        {"id": "id IS NULL"},
        {"lsn": "true"},
        {"statuss": "true"},
        {"status": "rand() > 1"},
        "drop",
    ],
    ids=["none", "a key", "an order", "no column", "no expression of a row", "another word"],
)
@pytest.mark.parametrize("step", [Latest, History], ids=["latest", "history"])
def test_what_a_change_may_lack_is_a_column_of_a_row_with_a_condition(step, missing):
    with fails(SpecInvalid, "fields_refused"):
        spec(step(keys=("id",), order_by=("lsn",), missing=missing))
    kept = {"status": "status = '?'"}
    assert spec(step(keys=("id",), order_by=("lsn",), missing=kept)).keyed.missing == kept
