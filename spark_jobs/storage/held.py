"""Held: what who writes knows of the lease that allows it (checkpoint/lease.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
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

    def confirm(self) -> None:
        """Raise LeaseLost if this process no longer holds it. Called before every commit."""
