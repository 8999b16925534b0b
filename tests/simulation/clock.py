"""What the product reads of time: machines may be off, and a lease expires by the schedule."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from spark_jobs.checkpoint import object_lease

_machine = threading.local()


class _Kind(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, datetime)


class _OfMachine(datetime, metaclass=_Kind):
    """Its `now` is that of the actor's machine."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Any:
        ahead: timedelta = getattr(_machine, "ahead", timedelta(0))
        return datetime.now(tz) + ahead


@contextmanager
def ahead(by: timedelta) -> Iterator[None]:
    """Within the block this thread's machine is ahead of the others, or behind."""
    _machine.ahead = by
    try:
        yield
    finally:
        _machine.ahead = timedelta(0)


class Clock:
    """The time that leases go by."""

    def __init__(self) -> None:
        self.passed = 0.0

    def passes(self, checkpoints: Path) -> None:
        """A minute goes by, in which nobody renews a lease."""
        seconds = object_lease.TTL_SECONDS + 1
        self.passed += seconds
        for each in checkpoints.glob("**/*lease.*"):
            then = each.stat().st_mtime - seconds
            os.utime(each, (then, then))

    def monotonic(self) -> float:
        """As time.monotonic."""
        return self.passed

    @contextmanager
    def told(self) -> Iterator[None]:
        """Within the block the product has this clock, and nobody renews a lease behind it."""
        with (
            patch.object(object_lease, "time", SimpleNamespace(monotonic=self.monotonic)),
            patch.object(object_lease, "RENEW_SECONDS", threading.TIMEOUT_MAX),
        ):
            yield


@contextmanager
def machines() -> Iterator[None]:
    """Within the block the product reads the time of the actor's machine."""
    readers = [
        module
        for name, module in sys.modules.items()
        if name.startswith(("spark_jobs.", "tests.simulation.drain"))
        and module.__dict__.get("datetime") is datetime
    ]
    for module in readers:
        module.__dict__["datetime"] = _OfMachine
    try:
        yield
    finally:
        for module in readers:
            module.__dict__["datetime"] = datetime
