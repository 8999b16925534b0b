"""Pipelines that go by the clock: Spark would run batches without data for ever; runs end."""

from collections import Counter

import pytest

from spark_jobs.runs.plan import plan
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark import operators

SMALL = {"events": 400}
pytestmark = [pytest.mark.usefixtures("examples"), alike("a run without data")]


def pipeline(name: str):
    return operators.named(name).spec


def without_data(scene: Scene, run_id: str) -> list[int]:
    return [
        row["batch_id"]
        for row in scene.ops("batches")
        if row["run_id"] == run_id and row["covered"] == 0
    ]


def test_a_run_on_one_batch_on_many_and_on_none_ends_with_one_batch_without_data(scene):
    made = scene(pipeline("first_flights"), **SMALL, deliveries=2)
    made.deliver()
    assert len(made.run("one").batches) == 2
    made.deliver()
    made.change(max_offsets_per_batch=60)
    assert len(made.run("many").batches) > 3
    assert plan(made.spec, made.settings).reasons == (
        "a batch without data: processing-time timers or TTL may be due",
    )
    assert made.run("none").account.read == 0
    assert [len(without_data(made, name)) for name in ("one", "many", "none")] == [1, 1, 1]
    good = [row for row in made.ledger.to_pylist() if row["kind"] in {"good", "duplicate"}]
    tails = {row["tail_number"] for row in good if row["tail_number"]}
    assert Counter(row["tail_number"] for row in made.table()) == Counter(tails)


def test_what_is_past_its_ttl_is_gone_and_comes_anew(scene):
    made = scene(pipeline("first_flights"), **SMALL, deliveries=2)
    briefly = made.spec.steps[1].model_copy(update={"processor": "SeenBriefly"})
    made.change(steps=(made.spec.steps[0], briefly))
    made.deliver()
    made.run("first")
    made.wait_past_the_last_batch(500)
    assert made.run("second").state.rows == 0
    removed = [
        op["numValuesRemovedDueToTTLExpiry"]
        for row in made.ops("batches")
        for op in row["operators"] or []
    ]
    assert sum(removed) == len({row["tail_number"] for row in made.table()})
    before = Counter(row["tail_number"] for row in made.table())
    made.deliver()
    made.run("third")
    after = Counter(row["tail_number"] for row in made.table())
    assert any(after[tail] > before[tail] for tail in before), (
        "an aircraft that was forgotten is new again"
    )


def test_an_overdue_timer_fires_exactly_once_in_a_run_without_data(scene):
    made = scene(pipeline("quiet_gates"), **SMALL, deliveries=2)

    def fired() -> int:
        return sum(
            op["timers_fired"] for row in made.ops("batches") for op in row["operators"] or []
        )

    for number in range(2):
        made.deliver()
        made.run(f"data-{number}")
        made.wait_past_the_last_batch(1000)
        assert made.run(f"due-{number}").account.read == 0
        assert fired() == len(made.table())
        timers = {
            name: sum(op[name] for row in made.ops("batches") for op in row["operators"] or [])
            for name in ("numRegisteredTimers", "numDeletedTimers")
        }
        assert timers["numRegisteredTimers"] >= timers["numDeletedTimers"] >= fired() > 0
        good = [
            row["origin"] for row in made.ledger.to_pylist() if row["kind"] in {"good", "duplicate"}
        ]
        told = Counter(row["origin"] for row in made.table() for _ in range(row["events"]))
        assert told == Counter(good), (
            "what was heard since it was quiet last, and told when it was quiet again"
        )
    before = fired()
    made.run("idle")
    assert fired() == before == len(made.table())
