"""Look: the worker of a root as somebody sees it who wants no drain of it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from spark_jobs.warm.link import PATIENCE_SECONDS, BadMessage, Gone, connected
from spark_jobs.warm.message import End, Look, Shown


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
