"""Changes of a key with one order_by and different contents, where a Latest refuses them: the first
stays, the others are in quarantine. Whatever is killed, and whether delta-rs or Spark merges.
"""

import random
from collections import Counter

import pytest

from local.broker import create_topic
from spark_jobs import failpoint
from spark_jobs.sink.keyed import driver
from tests.harness.crash import Images, over
from tests.harness.scene import Scene
from tests.spark.test_latest import SHOWN, SPEC, Shop

TIED = "tied"
"""The status of those that come second."""
REFUSING = SPEC.steps[0].model_copy(update={"ties": "refuse"})


@pytest.fixture
def shop(kafka, tmp_path):
    spec = SPEC.model_copy(update={"steps": (REFUSING,)})
    many = ("nothing_accepted", "malformed_share", "rejected_share")
    made = Scene(kafka, tmp_path, spec, partitions=2, checked=True, state_checks_off=many)
    create_topic(kafka, made.topic, 2)
    return Shop(made, [], random.Random(7))


def with_ties(shop, changes):
    """Behind some changes another one with the same lsn."""
    found = []
    for change in changes:
        found.append(change)
        if shop.seed.random() < 0.3:
            row = change["before"] or change["after"]
            tie = shop.change(change["source"]["lsn"], "u", row["id"])
            tie["after"]["status"] = TIED
            found.append(tie)
    return found


def assert_first_stay(made, shop):
    first = [row for row in shop.sent if row["status"] != TIED]
    wanted = shop._replace(sent=first).newest()
    found = {row["order_id"]: row for row in made.table() if not row["_sluice_deleted"]}
    assert {key: [row[name] for name in SHOWN] for key, row in found.items()} == {
        row["order_id"]: [row[name] for name in SHOWN] for row in wanted if row["op"]
    }
    kept = made.ops("quarantine")
    assert all(row["value"] for row in kept)
    assert {row["reason"].split(": ")[1] for row in kept} == {"TIES_REFUSED"}
    ties = {(row["part"], row["place"]): row for row in shop.sent if row["status"] == TIED}
    aside = {(row["partition"], row["offset"]) for row in kept}
    assert aside <= ties.keys()
    assert len(aside) == len(kept)
    newest = {(row["order_id"], row["lsn"]) for row in wanted}
    deciding = {at for at, row in ties.items() if (row["order_id"], row["lsn"]) in newest}
    assert deciding
    assert deciding <= aside
    sums = Counter()
    for row in made.ops("batches"):
        sums.update({name: n for name, n in row.items() if isinstance(n, int)})
    assert sums["malformed"] == len(kept)
    assert sums["accepted"] + sums["malformed"] == len(shop.sent)
    assert sums["unaccounted"] == 0


def test_the_first_of_equal_positions_stays_and_the_others_are_kept_aside(
    shop, tmp_path, monkeypatch
):
    shop.send(with_ties(shop, shop.changes(1, 150)))
    shop.made.run("into an empty table")
    assert_first_stay(shop.made, shop)
    shop.send(with_ties(shop, shop.changes(151, 150)))
    tries = [Images(shop.made, tmp_path / name) for name in ("with ties", "without")]
    running = iter(tries)
    at: list[Images] = []

    def passes(place):
        if place == "planned":
            at[:] = [next(running)]
        if at:
            at[0].at(place)

    with monkeypatch.context() as once:
        once.setattr(failpoint, "at", passes)
        shop.made.run("by delta-rs")
    assert_first_stay(shop.made, shop)
    taken = [(place, image) for each in tries for (place, _), image in each.taken.items()]
    assert [place for place, _ in taken[:2]] == ["planned", "planned"]
    for place, image in taken:
        if place in {"planned", "table.committed"}:
            killed = over(shop.made, image, shop.made.spec)
            killed.run(f"behind {place}")
            assert_first_stay(killed, shop)
    shop.made.change(max_offsets_per_batch=60)
    shop.send(with_ties(shop, shop.changes(301, 100)))
    monkeypatch.setattr(driver, "MOST_CHANGES", 0)
    shop.made.run("by Spark")
    assert_first_stay(shop.made, shop)
