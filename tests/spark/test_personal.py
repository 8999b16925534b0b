"""A field that tells of a person: after runs with malformed, late, failing and refused records of
it, its values are in places that hold records or rows, and in no other.
"""

import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from upath import UPath

from local.broker import create_topic
from spark_jobs.census.census import Census
from spark_jobs.messages import log
from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish
from spark_jobs.spec import Check, Deduplicate, Field, Pipeline, Topic, Transform
from spark_jobs.spec.analysis.state_checks import REJECTIONS
from tests.harness.turns import alike
from tests.unit.specs import topic

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOLD_RECORDS = {"table", "published table", "late", "quarantine", "state", "change feed"}


def spec(*, personal: bool) -> Pipeline:
    given = Topic(
        name="people", event_time="at", max_ahead="2 days",
        fields=(
            Field(name="email", type="string", personal=personal, pattern=".*@.*"),
            Field(name="at", type="timestamp"),
            Field(name="age", type="string"),
        ),
    )  # fmt: skip
    whole = "length(email) > 0 AND if(age = 'x', CAST(email AS INT) > 0, true)"
    no_email = {"column": "email", "value_set": ["nobody"]}
    return Pipeline(
        name="people", about="People.", topic=given, watermark_delay="2 hours",
        steps=(Transform(where=whole), Deduplicate(keys=("email",))),
        output_checks=(
            Check(type="expect_column_values_to_be_in_set", kwargs=no_email, severity="warning"),
        ),
    )  # fmt: skip


def drained(scene, canary, *, personal):
    made = scene(
        spec(personal=personal), events=1, partitions=1, topic=f"p-{uuid.uuid4().hex[:8]}",
        checked=True, state_checks_off=tuple(REJECTIONS),
    )  # fmt: skip
    create_topic(made.kafka, made.topic, 1)

    def send(*rows):
        values = [
            json.dumps({"email": who, "at": (AT + timedelta(hours=h)).isoformat(), "age": age})
            for who, h, age in rows
        ]
        made.send(*values, partition=0, timestamp=int(AT.timestamp() * 1000))

    send((f"{canary}a@x", 0, "1"), (f"{canary}b@x", 9, "1"), (f"{canary}-no-mail", 0, "1"))
    send((f"{canary}fails@x", 0, "x"), (f"{canary}early@x", 99, "1"))
    made.run("one")
    send((f"{canary}c@x", 10, "1"))
    made.run("two")
    send((f"{canary}late@x", 0, "1"), (f"{canary}d@x", 11, "1"))
    made.run("three")
    publish(made.paths, made.spec, Announced())
    assert {row["kind"] for row in made.ops("quarantine")} == {"malformed", "premature"}
    assert len(made.ops("late")) == 1
    return made


def kinds(made, canary):
    found = Census(UPath(made.settings.root), None, canary).answer()
    assert found.unread == ()
    return {each.kind for each in found.found}


@alike("values of a person")
@pytest.mark.parametrize("personal", [True, False])
def test_values_of_a_person_are_only_where_records_and_rows_are(scene, capfd, personal):
    canary = f"canary{uuid.uuid4().hex[:8]}"
    log.setup("text")
    made = drained(scene, canary, personal=personal)
    printed = "".join(capfd.readouterr())
    assert "accepted" in printed
    elsewhere = kinds(made, canary) - HOLD_RECORDS
    [failing] = [row for row in made.ops("quarantine") if "CAST_INVALID_INPUT" in row["reason"]]
    told = f"{failing['reason']} {[row['sample'] for row in made.ops('checks')]} {printed}"
    if personal:
        assert (elsewhere, canary in told) == (set(), False)
    else:  # the same without the word: the test sees the leaks
        assert elsewhere >= {"log of a table", "ops tables", "failing records"}
        of_rows = [row for row in made.ops("checks") if row["suite"] == "output"]
        assert any(canary in row["sample"] for row in of_rows), of_rows
        assert canary in told


def test_the_event_time_is_no_persons():
    with pytest.raises(Exception, match="SPEC_INVALID"):
        topic(
            fields=(
                Field(name="id", type="string"),
                Field(name="at", type="timestamp", personal=True),
            )
        )


@alike("values of a person")
def test_a_table_of_before_has_the_property_from_the_next_run_on(scene):
    canary = f"canary{uuid.uuid4().hex[:8]}"
    made = drained(scene, canary, personal=False)
    before = kinds(made, canary)
    fields = tuple(
        each.model_copy(update={"personal": each.name == "email"})
        for each in made.spec.topic.fields
    )
    made.change(topic=made.spec.topic.model_copy(update={"fields": fields}))
    other = f"other{uuid.uuid4().hex[:8]}"
    value = {"email": f"{other}@x", "at": (AT + timedelta(hours=12)).isoformat(), "age": "1"}
    made.send(json.dumps(value), partition=0, timestamp=int(AT.timestamp() * 1000))
    made.run("four")
    publish(made.paths, made.spec, Announced())
    assert kinds(made, other) <= HOLD_RECORDS
    assert kinds(made, canary) == before
