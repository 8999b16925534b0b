"""The kills of a warm campaign: the catalogue's, the worker's parts, its client, one that rests."""

import time
from collections.abc import Callable
from random import Random

from spark_jobs.errors import LeaseHeld
from spark_jobs.storage import failpoint
from tests.faults.catalogue import (
    DRIVER,
    WHOLE,
    Kill,
    Lengths,
    in_a_batch,
    its,
    nothing,
    stores_are_written,
    whenever,
)
from tests.harness.process import Running
from tests.harness.warm_process import WarmRunning, kill

Act = Callable[[Running, Random, Lengths], None]
WarmAct = Callable[[WarmRunning], None]
HELD = "table.committed"
ENDED = "its client gone: the worker ended the drain behind its batch"
RESTED = "between two drains"


def _batch(end: WarmAct) -> Act:
    """In a batch."""

    def act(running: Running, chance: Random, lengths: Lengths) -> None:
        running.wait_for(running.has_planned, "a batch")
        time.sleep(chance.uniform(0, lengths.batch))
        end(_warm(running))

    return act


def _anytime(end: WarmAct) -> Act:
    def act(running: Running, chance: Random, lengths: Lengths) -> None:
        time.sleep(chance.uniform(0, lengths.run))
        end(_warm(running))

    return act


def _stores(running: Running, _chance: Random, _lengths: Lengths) -> None:
    stores_are_written(running)
    _warm(running).kill_worker()


def _behind(*kinds: str) -> Act:
    """When the drain has ended; the next one comes at once."""

    def act(running: Running, _chance: Random, _lengths: Lengths) -> None:
        warm = _warm(running)
        assert running.end() == 0, running.said[-2000:]
        warm.kill_behind(*kinds)

    return act


def _python_workers(running: WarmRunning) -> None:
    kill([*running.processes("workers")])


def _client(running: WarmRunning) -> None:
    """The next one comes when the worker has ended."""
    running.kill_client()
    running.settle()


def _client_held(running: Running, _chance: Random, _lengths: Lengths) -> None:
    """The next one comes at once, is told that this one holds the lease, and is tried again."""
    warm = _warm(running)
    warm.hold(HELD)
    warm.kill_client()
    refused = warm.again(0)
    assert refused.end() == LeaseHeld.exit_status, refused.said[-2000:]
    warm.let_go(HELD)
    number, status = 0, LeaseHeld.exit_status
    while status == LeaseHeld.exit_status:
        number += 1
        again = warm.again(number)
        status = again.end()
        assert status in {0, LeaseHeld.exit_status}, again.said[-2000:]
    warm.settle()


def _warm(running: Running) -> WarmRunning:
    assert isinstance(running, WarmRunning)
    return running


STORES = Kill("its worker, while stores are written", _stores, chance=2)
BEHIND = Kill("its worker's driver, behind it", _behind("driver"), where=RESTED)
KILLS = (
    *(Kill(f"failpoint {name}", nothing, f"{name}=exit") for name in failpoint.POINTS),
    Kill("client and worker, in a batch", in_a_batch, chance=3),
    Kill("client and worker, at any moment", whenever, chance=2),
    Kill("its worker, in a batch", _batch(WarmRunning.kill_worker), chance=3),
    STORES,
    Kill("its JVM, in a batch", its("jvm"), chance=2, lives=True),
    Kill("its driver, in a batch", its("driver")),
    Kill("its Python workers, in a batch", _batch(_python_workers), chance=2, lives=True),
    Kill("its client, in a batch", _batch(_client), chance=2, where=ENDED),
    Kill("its client, while it is held, and tried again at once", _client_held, f"{HELD}=wait"),
    Kill("its client, at any moment", _anytime(_client), where="its client gone, at any moment"),
    Kill("its worker's JVM, behind it", _behind("jvm"), where=RESTED),
    BEHIND,
    Kill("its Python workers, behind it", _behind("workers"), where=RESTED),
    Kill("all of its worker, behind it", _behind("jvm", "driver", "workers"), where=RESTED),
)
"""What is killed where: the parts of a drain are the worker's, but for its client."""

SHORT = (WHOLE, BEHIND, STORES, WHOLE, DRIVER)
"""A few at certain places; the worker of the first two, and that of the last two, is the same."""


def schedule(seed: int, kills: int) -> list[tuple[Kill, Random]]:
    """Each kind once, in a random order, then by chance, with calm drains between, by the seed."""
    chance = Random(seed)
    first = chance.sample(KILLS, len(KILLS))
    more = chance.choices(KILLS, [kill.chance for kill in KILLS], k=max(0, kills - len(first)))
    drawn = list[Kill]()
    for number, one in enumerate([*first, *more][:kills]):
        drawn += [one, *[WHOLE] * (number % 3)]
    return [(one, Random(chance.random())) for one in drawn]
