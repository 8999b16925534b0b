"""Spark: what a worker keeps between drains, as it asks for it. jvm.py has the real one."""

from __future__ import annotations

from typing import Protocol


class Spark(Protocol):
    """A JVM with Spark's context."""

    def new_session(self) -> None:
        """Make a session that the next drain finds."""

    def clean(self) -> None:
        """Leave nothing of the drain behind."""

    def collect(self) -> None:
        """Collect all garbage."""

    def stop(self) -> None:
        """Stop it; it ends behind this process."""

    def kill(self) -> None:
        """End it at once, with whatever it has at work."""

    def memory_mb(self) -> int:
        """Megabytes of this process and its JVM."""
