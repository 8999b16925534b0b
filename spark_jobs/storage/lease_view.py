"""Lease view: what a writer knows of its lease (checkpoint/lease.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from upath import UPath


class Held(Protocol):
    """A lease that this process holds."""

    @property
    def path(self) -> UPath:
        """Where it is: it names the lease."""

    @property
    def fence(self) -> int:
        """Its number: each holder has a higher one than those before it. 0 on a disk, where the
        kernel lets nobody come late.
        """

    @property
    def told(self) -> Mapping[str, str]:
        """Settings of the Spark session that commits under it: the log store looks at it then
        (spark_jobs/java/sluice/store). None on a disk.
        """

    def confirm(self) -> None:
        """Raise LeaseLost if this process no longer holds it. Called before every commit."""
