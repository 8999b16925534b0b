"""The short form of `make faults`: every kind of kill once, so every failpoint, and a verification after each few."""

from __future__ import annotations

import logging

from tests.faults.campaign import Campaign
from tests.faults.catalogue import KILLS, schedule

SEED = 20130101


def test_no_kill_loses_doubles_or_leaves_anything_unaccounted(kafka, tmp_path):
    figures = Campaign(kafka, tmp_path, SEED, len(KILLS), logging.getLogger("campaign").info).run()
    assert figures.kills >= len(KILLS) - 2, "most kills must find a drain that is alive"
    assert figures.verified == 3


def test_a_seed_gives_one_schedule_and_another_gives_another():
    def names(seed: int) -> list[tuple[str, float]]:
        return [(kill.name, chance.random()) for kill, chance in schedule(seed, 40)]

    assert names(1) == names(1)
    assert names(1) != names(2)
    assert {name for name, _ in names(3)} == {kill.name for kill in KILLS}
