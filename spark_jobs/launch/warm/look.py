"""Look: the workers of a root as somebody sees them who wants no run of them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from spark_jobs.errors import SluiceError
from spark_jobs.launch.warm.fits import no_room_because, unfit_because
from spark_jobs.launch.warm.link import PATIENCE_SECONDS, BadMessage, Gone, connected
from spark_jobs.launch.warm.message import End, Look, Shown
from spark_jobs.launch.warm.place import socket_paths
from spark_jobs.settings.installation import Settings


def shown(socket: Path, *, ends: bool = False) -> Shown | None:
    """The worker at this socket; None if there is none that answers. `ends` asks it to end, behind
    the drain at work if there is one.
    """
    with suppress(BadMessage, Gone):
        if (link := connected(socket)) is not None:
            try:
                link.send(End() if ends else Look())
                answer = link.receive(PATIENCE_SECONDS)
            finally:
                link.close()
            return answer if isinstance(answer, Shown) else None
    return None


def lines(worker: Shown, log: Path) -> list[str]:
    """The worker in words."""
    work = f"at work: {worker.run}" if worker.run else "idle"
    return [
        f"process {worker.process} since {worker.started_at}: {worker.drains} drains, "
        f"{worker.memory_mb} MB, {work}",
        *([f"it ends: {worker.ending}"] if worker.ending else []),
        f"log: {log}",
    ]


def foretold(settings: Settings, records: int) -> str:
    """Whether a run that reads so many records would be warm now, and why."""
    try:
        return _foretold(settings, records)
    except (SluiceError, OSError, ValueError) as error:
        return f"a run now starts cold: no worker can be started: {error}"


def _foretold(settings: Settings, records: int) -> str:
    if settings.warm == "off":
        return "a run now starts cold: SLUICE_WARM is off"
    if why := unfit_because(settings, records):
        return f"a run now starts cold: {why}"
    every = socket_paths(settings.root)
    there = [found for path in every if (found := shown(path))]
    if free := [each for each in there if not each.run]:
        return f"a run now is warm: worker {free[0].process} waits for one"
    if len(there) == len(every):
        return "a run now starts cold: every worker is busy"
    wanted = settings.warm == "on" and not there
    if not wanted and (why := no_room_because(settings)):
        return f"a run now starts cold: {why}"
    return "a run now starts a worker, which waits for the next ones (SLUICE_WARM)"
