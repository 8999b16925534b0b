"""A crash at each named place of a run, then a run that goes on: everything is exact."""

import pytest

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import SparkFailed
from spark_jobs.storage import failpoint
from tests.harness.crash import OF_A_BATCH, Images, over
from tests.harness.long_form import long_form
from tests.harness.refused import because, has
from tests.harness.scene import Scene
from tests.harness.turns import alike

pytestmark = alike("a crash at a named place")

BATCHES = {"the first batch": 0, "a batch with history": 2, "a batch without data": 3}
CRASHES = [(place, batch) for place in OF_A_BATCH for batch in BATCHES.values()]
CRASHES += [("leased", 1), ("checks", 3), ("judged", 3)]
SHORT = {
    ("leased", 1),
    ("planned", 0),
    ("planned", 3),
    ("table.committed", 3),
    ("audit", 2),
    ("audited", 2),
    ("checks", 3),
    ("judged", 3),
}
"""Each place once, for batches that tests/spark/properties does not leave half written."""
"""Of two deliveries: each is a batch with data and a closing one without."""


@pytest.fixture(scope="module")
def images(kafka, tmp_path_factory) -> tuple[Scene, Images]:
    """Two deliveries drained, with an image at each failpoint, and a third that waits."""
    folder = tmp_path_factory.mktemp("crashes")
    made = Scene(
        kafka, folder, "departure_delays", events=1500, deliveries=3, stores=1, partitions=2
    )
    taking = Images(made, folder)
    with pytest.MonkeyPatch.context() as active:
        active.setattr(failpoint, "at", taking.at)
        for number in range(2):
            made.deliver()
            made.run(f"run-{number}")
    assert {place for place, _ in taking.taken} == failpoint.POINTS.keys() - {"reported"}, (
        "`make faults` kills there"
    )
    checkpoint = Checkpoint(made.paths.checkpoint)
    covered = {batch: checkpoint.batch(batch).covered > 0 for batch in checkpoint.committed()}
    assert covered == {0: True, 1: False, 2: True, 3: False}
    made.deliver()
    return made, taking


@pytest.mark.parametrize(
    ("place", "batch"),
    [crash if crash in SHORT else pytest.param(*crash, marks=long_form) for crash in CRASHES],
)
def test_what_a_crash_leaves_at_a_place_is_gone_on_from_and_nothing_is_lost_doubled_or_counted_twice(
    images, place, batch
):
    base, taking = images
    crashed = over(base, taking.taken[place, batch])
    committed = Checkpoint(crashed.paths.checkpoint).committed()
    assert (batch in committed) is (place not in {"planned", "table.committed"}), (
        "the image is not of that place"
    )
    left = [left for left in committed if left > read_cursor(crashed.paths.cursor).audited]
    assert (batch in left) is place.startswith("audit"), "the image is not of that place"
    report = crashed.run("after the crash")
    assert report.recovered == tuple(left)
    assert report.account.late > 0 or batch == 0, (
        "late is what came after a watermark, and before the first batch is none"
    )
    crashed.assert_exact()


def test_a_run_whose_every_batch_fails_once_gives_the_same_table(scene, spark, monkeypatch):
    made = scene("departure_delays", events=1500, deliveries=1, max_offsets_per_batch=600)
    made.deliver_all()
    places = ("table.committed", "planned", "audited")
    checkpoint = Checkpoint(made.paths.checkpoint)
    failed = {}

    def at(place: str):
        batch = max(checkpoint.planned(), default=-1)
        if batch >= 0 and batch not in failed and place == places[batch % len(places)]:
            failed[batch] = place
            raise failpoint.Failure(f"failpoint {place}")

    monkeypatch.setattr(failpoint, "at", at)
    while (problem := made.drain(f"after {len(failed)} failures").problem) is not None:
        because(problem, SparkFailed, "unexpected", text=has("failpoint "))
        assert any(f"failpoint {place}" in problem.parameters["text"] for place in places), problem
        assert len(failed) < 20
        assert not spark.streams.active, (
            "a query that writes on after its run has given back the lease"
        )
    assert set(failed.values()) == set(places)
    assert len(failed) >= 4
    made.assert_exact()
