"""The short form of `make faults WARM=1`: a few kills of warm drains at certain places."""

import logging
from random import Random

import pytest

from tests.faults import publishing, verifying
from tests.faults.campaign import Campaign
from tests.faults.catalogue import IN_STORES, at_failpoint
from tests.faults.warm_kills import RESTED, SHORT
from tests.harness.long_form import long_form
from tests.harness.roots import ROOT
from tests.harness.warm_process import Workers

pytestmark = pytest.mark.filterwarnings("default")  # Great Expectations warns while it loads


@long_form
def test_a_kill_of_a_worker_is_a_kill_of_its_drain_and_no_more(kafka, spark, tmp_path):
    workers = Workers(str(tmp_path / ROOT))
    try:
        figures = Campaign(
            kafka,
            tmp_path,
            [(kill, Random()) for kill in SHORT],
            logging.getLogger("campaign").info,
            pipelines=("flight_events",),
            events=1500,
            block=len(SHORT),
            start=workers,
            stores=1,
            checked=False,
        ).run(publish=publishing.here, verdict=verifying.here)
    finally:
        workers.end()
    assert not workers.tree
    assert [*figures.landed.elements()] == [RESTED, IN_STORES, at_failpoint("table.committed")]
    assert figures.verified == 1
    assert [*workers.drains.values()] == [2, 1, 1], "one worker behind each kill that ended one"
    assert workers.reused_and_killed == 2, "the first and the third"
