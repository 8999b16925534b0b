"""The short form of `make faults REPAIRS=1`: a stage and a swap, each killed at certain places."""

import logging
from random import Random

import pytest

from spark_jobs.storage import failpoint
from tests.faults.repairing import FIRST, Repairing
from tests.faults.stage_kills import AT, Round
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
