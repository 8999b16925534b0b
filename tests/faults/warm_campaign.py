"""A campaign of warm drains: `make faults WARM=1 KILLS=20`, in short test_warm_campaign.py."""

from tests.faults.campaign import Campaign
from tests.faults.warm_kills import schedule
from tests.harness.roots import ROOT
from tests.harness.warm_process import Workers

STORES = 2
"""Of a step, the same for each pipeline: another value of the variable ends the worker."""
BATCH = 0.3
"""Of the first batch of a new worker: what a later one takes of that."""


def run(kafka, folder, seed, kills, say, again, until) -> list[str]:
    """What it found, in words; raises AssertionError too if no worker did more than one drain."""
    workers = Workers(str(folder / ROOT))
    try:
        drains = Campaign(
            kafka, folder, schedule(seed, kills), say, again, start=workers, stores=STORES
        )
        drains.measure(BATCH)
        found = drains.run(until=until)
    finally:
        workers.end()
        for line in workers.lines:
            say(line)
    assert max(workers.drains.values(), default=0) > 1, "no worker did a second drain"
    return found.lines
