"""GroupState in buckets over real Kafka and Spark: DuckDB's table over restarts and a crash."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from upath import UPath

from spark_jobs.errors import ProcessorFailed, SpecInvalid, StateIncompatible
from spark_jobs.messages.job import StateQuery
from spark_jobs.runs.resume.other_state import state_types
from spark_jobs.runs.told.state_view import state_view
from spark_jobs.spec import Field, GroupState, Pipeline, State, Transform
from spark_jobs.steps.group_state import GroupStateOperator
from spark_jobs.steps.operator import StepContext
from spark_jobs.steps.timers import Timers
from spark_jobs.storage import failpoint
from spark_jobs.topics.flights import FLIGHTS
from tests.harness.refused import because, has
from tests.harness.replay import Offsets
from tests.harness.scene import Scene
from tests.harness.turns import held_by
from tests.pipelines.services.spec import SPEC
from tests.spark import truth
from tests.spark.operators import EVENTS, Operator

SERVICES = Operator(
    SPEC,
    f"""SELECT carrier, tail_number FROM (
            SELECT carrier, tail_number, unnest(range(count(*) // 4)) FROM ({EVENTS}) GROUP BY carrier, tail_number)""",
)
SINCE_SERVICE = f"""SELECT carrier, tail_number, count(*) % 4 AS events FROM ({EVENTS})
                    GROUP BY carrier, tail_number HAVING events > 0"""
"""What must be remembered."""
EVENTS_SO_FAR = f"""SELECT carrier, tail_number, count(*) AS events FROM ({EVENTS})
                    GROUP BY carrier, tail_number"""
COUNTED = ("numRowsTotal", "numRowsUpdated", "numRowsRemoved")
CARRIER = (Field(name="carrier", type="string"),)
N = (Field(name="n", type="bigint"),)
pytestmark = [
    pytest.mark.usefixtures("examples"),
    held_by("unit/test_bucket.py", "unit/test_bucket_processor.py"),
]


@pytest.fixture(scope="module")
def crashed(kafka, tmp_path_factory) -> Scene:
    """A delivery in one batch, then one in many, the second cut off between table and state."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SLUICE_PIPELINES", "tests.pipelines")
        made = Scene(
            kafka, tmp_path_factory.mktemp("buckets"), SPEC, events=4000, deliveries=2, stores=2
        )
        made.deliver()
        made.run("one batch")
        made.deliver()
        made.change(max_offsets_per_batch=700)
        patched.setitem(failpoint.ACTIVE, "table.committed", "raise")
        assert made.drain("killed").problem is not None
        patched.delitem(failpoint.ACTIVE, "table.committed")
        made.run("many batches")
        return made


def test_the_table_is_duckdbs_over_a_restart_and_a_crash_amid_a_batch(crashed):
    known = truth.hold(crashed, SERVICES)
    assert len(truth.ends(crashed)) > 3
    assert len(known.rows) > 200
    assert max(Counter(map(str, known.rows)).values()) > 1


def test_what_it_remembers_and_how_many_keys_these_are_is_what_plain_sql_says(crashed):
    remembered = truth.truth(
        SERVICES._replace(sql=SINCE_SERVICE), crashed.ledger, truth.ends(crashed)
    ).rows
    assert len(remembered) > 20
    assert None in {row["tail_number"] for row in remembered}, "null is a key too"
    told = list(state_view(crashed.spec, crashed.settings, StateQuery(step=2, limit=10_000)))
    assert told[1] == f"state (value): {len(remembered):,} rows"
    assert told[2].split() == ["carrier", "tail_number", "events"]
    assert Counter(tuple(line.split()) for line in told[3:]) == Counter(
        (row["carrier"], row["tail_number"] or "null", str(row["events"])) for row in remembered
    )


def test_the_counts_of_ops_batches_are_of_keys_and_not_of_buckets(crashed):
    rows = sorted(crashed.ops("batches"), key=lambda row: row["batch_id"])
    ends = truth.ends(crashed)
    events = [_events(crashed.ledger, ends[:number]) for number in range(len(ends) + 1)]
    told = {
        row["batch_id"]: row["operators"][1] for row in rows if row["operators"] and row["read"]
    }
    right = {number: _counts(events[number], events[number + 1]) for number in told}
    assert {number: {name: one[name] for name in COUNTED} for number, one in told.items()} == right
    assert len(right) > 2
    assert any(counts["numRowsRemoved"] > 0 for counts in right.values()), "none was forgotten"
    assert right[max(right)]["numRowsTotal"] > SPEC.steps[1].buckets
    assert told[0]["operatorName"] == "transformWithStateInPySparkExec"
    assert rows[-1]["state_rows"] == sum(each["numRowsTotal"] for each in rows[-1]["operators"])


def _events(ledger: pa.Table, ends: list[Offsets]) -> Counter[tuple[str, str | None]]:
    """How many events each aircraft had when the last of these batches had ended."""
    end = ends[-1] if ends else {}
    read = [row for row in ledger.to_pylist() if row["offset"] < end.get(row["partition"], 0)]
    known = pa.Table.from_pylist(read, ledger.schema)
    rows = truth.truth(SERVICES._replace(sql=EVENTS_SO_FAR), known, ends).rows
    return Counter({(row["carrier"], row["tail_number"]): row["events"] for row in rows})


def _counts(before: Counter[Any], after: Counter[Any]) -> dict[str, int]:
    """What a batch does to aircraft, if it makes the one number of events of the other."""
    visited = [key for key in after if after[key] > before[key]]
    return {
        "numRowsTotal": sum(many % 4 > 0 for many in after.values()),
        "numRowsUpdated": sum(after[key] % 4 > 0 for key in visited),
        "numRowsRemoved": sum(after[key] % 4 == 0 < before[key] % 4 for key in visited),
    }


def test_one_key_is_found_among_all_of_its_bucket(crashed):
    remembered = truth.truth(
        SERVICES._replace(sql=SINCE_SERVICE), crashed.ledger, truth.ends(crashed)
    ).rows
    wanted = next(row for row in remembered if row["tail_number"])
    keys = (f"carrier={wanted['carrier']}", f"tail_number={wanted['tail_number']}")
    told = list(state_view(crashed.spec, crashed.settings, StateQuery(keys=keys, step=2)))
    assert told[1] == "state (value): 1 row"
    assert told[3].split() == [wanted["carrier"], wanted["tail_number"], str(wanted["events"])]
    changes = "\n".join(
        state_view(crashed.spec, crashed.settings, StateQuery(keys=keys, step=2, changes=True))
    )
    assert "events" in changes


def test_another_number_of_buckets_is_refused_in_words_and_nothing_is_read(crashed):
    step = crashed.spec.steps[1].model_copy(update={"buckets": 16})
    before = crashed.spec
    crashed.change(steps=(before.steps[0], step))
    try:
        problem = crashed.drain("sixteen").problem
    finally:
        crashed.change(steps=before.steps)
    changed = {"differences": has("steps[1].buckets: was 8, is 16"), "reset": has("sluice reset")}
    because(problem, StateIncompatible, "spec_changed", **changed)


@pytest.fixture
def types(spark, tmp_path):
    """The state types of the step where its keys are these expressions."""

    def of(*keys: str) -> list[str]:
        rows = spark.readStream.format("rate").load().selectExpr(*keys)
        context = StepContext(SPEC, 1, "", {}, UPath(tmp_path), Timers(spark))
        return state_types(GroupStateOperator(SPEC.steps[1]).apply(rows, context))

    return lambda kind, name="carrier": of(
        f"CAST(value AS {kind}) AS {name}", "'N1' AS tail_number"
    )


def test_a_query_that_gives_the_key_another_type_needs_another_state(types):
    assert types("bigint") == types("bigint")
    [before], [after] = (set(types(one)) - set(types(two)) for one, two in PAIRS)
    assert before == "in buckets: struct<carrier:int,tail_number:string,_sluice_bucket:int>"
    assert after == before.replace("carrier:int", "carrier:bigint")


def test_a_query_may_give_the_key_in_other_letters_as_in_form_row(types):
    assert types("string", "CARRIER") == types("string", "carrier")
    assert "in buckets: struct<carrier:string" in "\n".join(types("string", "Carrier"))


PAIRS = (("int", "bigint"), ("bigint", "int"))


def misusing(processor: str, **changes) -> Pipeline:
    usual = {"form": "buckets", "buckets": 2, "state": N, "time_mode": "none"}
    step = {"processor": processor, "keys": ("carrier",), "output": CARRIER}
    first = changes.pop("first", ())
    return Pipeline(
        name="misuses",
        about="misuses",
        topic=FLIGHTS,
        steps=(*first, GroupState(**usual | step | changes)),
        state=State(budget_rows=100, shuffle_partitions=1),
    )


@pytest.mark.parametrize(
    ("spec", "kind", "reason", "told"),
    [
        (misusing("raises_for_buckets"), ProcessorFailed, "code_raised_in_batch", {"where": has("misuses/logic.py line ", ", in raises_for_buckets"), "said": has("KeyError: 'boom'")}),
        (misusing("forgets_the_state"), ProcessorFailed, "result_wrong", {"pipeline": "misuses", "text": has("it is Table; give two pyarrow Tables")}),
        (misusing("takes_rows_only"), ProcessorFailed, "signature_unfit", {"name": "takes_rows_only", "signature": has("(rows"), "parameters": "rows, state", "how": "by position"}),
        (
            misusing("raises_for_buckets", keys=("part",), first=(Transform(sql="SELECT *, distance_miles / 7 AS part FROM rows"),)),
            SpecInvalid,
            "key_unpackable",
            {"name": "part", "kind": has("double")},
        ),
    ],
    ids=["an error of its own", "one table", "one parameter", "a key of Spark's that is double"],
)  # fmt: skip
def test_what_its_code_does_wrong_is_one_error_with_the_place_and_nothing_is_committed(
    scene, spec, kind, reason, told
):
    made = scene(spec, events=100, deliveries=1)
    made.deliver_all()
    because(made.drain().problem, kind, reason, **told)
    assert not made.paths.table.exists() or made.table() == []
