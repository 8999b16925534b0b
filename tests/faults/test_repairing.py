"""The short form of `make faults REPAIRS=1`: a stage and a swap, each killed at certain places."""

from __future__ import annotations

import logging
from random import Random

import pytest

from spark_jobs import failpoint
from tests.faults.repairing import FIRST, Repairing
from tests.faults.stage_kills import AT, OF_STAGES, Round, rounds
from tests.harness.long_form import long_form

pytestmark = pytest.mark.filterwarnings("default")  # Great Expectations warns while it loads
STAGES = ("staged.judged", "staged")
"""The second begins where the first has left a manifest."""
SWAPS = ("swap.leased", "swap.committed")


@long_form
def test_no_kill_of_a_stage_or_a_swap_leaves_anything_half_done(kafka, spark, tmp_path):
    made = Round(tuple(AT[place] for place in STAGES), True, SWAPS, Random(1))
    figures = Repairing(
        kafka,
        tmp_path,
        iter([made]),
        logging.getLogger("campaign").info,
        deliveries=FIRST + 2,
        pipelines=("departure_delays",),
    ).run(len(STAGES) + len(SWAPS))
    assert [*figures.landed] == [
        *(f"stage: at a failpoint: {failpoint.STAGE_POINTS[place]}" for place in STAGES),
        *(f"swap: at a failpoint: {failpoint.SWAP_POINTS[place]}" for place in SWAPS),
    ]
    assert (figures.stages, figures.swaps, figures.repairs) == (2, 2, 1)
    assert figures.merged


def test_a_seed_gives_one_sequence_of_rounds_and_another_gives_another():
    def told(seed: int) -> list[object]:
        drawn = rounds(seed)
        found = [next(drawn) for _ in range(40)]
        return [(each.stages, each.between, each.swaps, each.chance.random()) for each in found]

    assert told(1) == told(1)
    assert told(1) != told(2)
    drawn = rounds(3)
    found = [next(drawn) for _ in range(40)]
    assert {kill for each in found for kill in each.stages} == set(OF_STAGES)
