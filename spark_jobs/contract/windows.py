"""The windows of an aggregation: over the event time, aligned to the epoch in UTC. In Spark: steps/aggregate.py."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.contract.duration import Duration, interval
from spark_jobs.contract.model import Model, refuse
from spark_jobs.contract.sql import refuse_unsafe


def _positive(field: str, given: timedelta) -> None:
    if given <= timedelta():
        refuse(field, str(given), "a window needs a length", "Use for example '1 hour'")


def _floor(at: datetime, step: timedelta) -> datetime:
    return at - (at - datetime(1970, 1, 1, tzinfo=UTC)) % step


class Tumbling(Model):
    """Windows of one size, side by side: every event is in one."""

    kind: Literal["tumbling"] = "tumbling"
    size: Duration = Described(strict=False, description="how long a window is")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        _positive("size", self.size)
        return self

    def last_end(self, at: datetime) -> datetime:
        """The end of the last window that holds an event of that time.

        >>> str(Tumbling(size="1 hour").last_end(datetime(2026, 1, 1, 10, 40, tzinfo=UTC)))
        '2026-01-01 11:00:00+00:00'
        """
        return _floor(at, self.size) + self.size

    def __str__(self) -> str:
        return interval(self.size)


class Sliding(Model):
    """Windows of one size that begin every `slide`: an event is in several, and can be late for some of them only."""

    kind: Literal["sliding"] = "sliding"
    size: Duration = Described(strict=False, description="how long a window is")
    slide: Duration = Described(strict=False, description="how far apart two windows begin")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        _positive("size", self.size)
        _positive("slide", self.slide)
        if self.slide >= self.size:
            refuse("slide", str(self.slide), f"windows of {interval(self.size)} would not overlap",
                   "Slide by less than the size, or use Tumbling")
        return self

    def last_end(self, at: datetime) -> datetime:
        """The end of the last window that holds an event of that time.

        >>> str(Sliding(size="1 hour", slide="20 minutes").last_end(datetime(2026, 1, 1, 10, 50, tzinfo=UTC)))
        '2026-01-01 11:40:00+00:00'
        """
        return _floor(at, self.slide) + self.size

    def __str__(self) -> str:
        return f"{interval(self.size)}, beginning every {interval(self.slide)}"


class Session(Model):
    """A window that lasts as long as events come, and ends when none came for the gap."""

    kind: Literal["session"] = "session"
    gap: Duration | None = Described(
        default=None, strict=False, description="how long no event must come until the session ends"
    )
    gap_sql: str | None = Described(
        default=None, description="instead of gap: Spark SQL for each row's own, an interval or its text"
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.gap is None) == (self.gap_sql is None):
            refuse("gap", self.gap or self.gap_sql, "a session has one gap: fixed, or a row's own",
                   "Give gap='30 minutes', or gap_sql=\"CASE WHEN ... THEN interval '5 minutes' ... END\"")
        if self.gap is not None:
            _positive("gap", self.gap)
        refuse_unsafe("gap_sql", self.gap_sql or "")
        return self

    def last_end(self, at: datetime) -> datetime | None:
        """The end of a session whose last event has that time; None where each row has its own gap."""
        return at + self.gap if self.gap else None

    def __str__(self) -> str:
        return f"session, until nothing came for {interval(self.gap) if self.gap else self.gap_sql}"


Window = Annotated[Tumbling | Sliding | Session, Described(discriminator="kind")]
