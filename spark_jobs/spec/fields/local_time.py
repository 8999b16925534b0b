"""Local times: times in text of a form of their own, or without a zone, as a spec declares them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Final, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import model_validator

from spark_jobs.spec.model import Model, refuse

MONTHS: Final = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
DIRECTIVES: Final = {
    "Y": r"(?P<Y>[0-9]{4})",
    "m": r"(?P<m>[0-9]{2})",
    "d": r"(?P<d>[0-9]{2})",
    "H": r"(?P<H>[0-9]{2})",
    "I": r"(?P<I>[0-9]{2})",
    "M": r"(?P<M>[0-9]{2})",
    "S": r"(?P<S>[0-9]{2})",
    "f": r"(?P<f>[0-9]{1,9})",
    "p": r"(?P<p>AM|PM)",
    "b": f"(?P<b>{'|'.join(MONTHS)})",
    "z": r"(?P<z>Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])",
}
"""Python's strptime, and strict: exactly so many digits, English months. %f has 1 to 9 digits, of
which six count. A zone is less than a day from UTC.
"""


class Local(Model):
    """A time as text of this pattern, for `format` of a field."""

    pattern: str = "%Y-%m-%d %H:%M:%S"
    """as Python's strptime has it: %Y %m %d %H %I %M %S %f %p %b %z; matched strictly"""
    zone: str | None = None
    """the zone of its clock, such as 'Europe/Berlin'; not with %z"""
    twice: Literal["malformed", "first", "second"] = "malformed"
    """what a time means that the clock has twice, in autumn. One that it skips is malformed"""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        used = [*directives(self.pattern)]
        unknown = sorted({each for each in used if each not in DIRECTIVES})
        day = {"Y", "d"} <= {*used} and {"m", "b"} & {*used}
        if unknown or len({*used}) < len(used) or not day:
            refuse(
                "pattern",
                self.pattern,
                "it needs year, month and day, and each directive once",
                f"Use %{', %'.join(DIRECTIVES)}; %% is a percent sign",
            )
        if ("I" in used) != ("p" in used) or {"H", "I"} <= {*used}:
            refuse(
                "pattern", self.pattern, "%I goes with %p, and %H without", "Use %H, or %I and %p"
            )
        if self.zone is not None and "z" in used:
            refuse("zone", self.zone, "each time has its own zone: %z", "Leave zone out")
        if self.zone is not None:
            try:
                ZoneInfo(self.zone)
            except (KeyError, ValueError, OSError):
                refuse("zone", self.zone, "there is no such zone", "Write it as 'Europe/Berlin'")
        return self

    @property
    def expression(self) -> re.Pattern[str]:
        """What matches a whole text."""
        parts = re.split(r"%(.)", self.pattern)
        return re.compile(
            "".join(
                (re.escape("%") if part == "%" else DIRECTIVES[part])
                if number % 2
                else re.escape(part)
                for number, part in enumerate(parts)
            )
        )

    @property
    def tells_zone(self) -> bool:
        """Whether each text has its own."""
        return "z" in directives(self.pattern)


def directives(pattern: str) -> Iterator[str]:
    """The letters behind percent signs.

    >>> [*directives("%Y-%m%%")]
    ['Y', 'm']
    """
    return (each for each in re.findall(r"%(.?)", pattern) if each != "%")


def offset(text: str) -> timedelta:
    """How far a zone of %z is from UTC."""
    if text == "Z":
        return timedelta()
    hours, minutes = int(text[1:3]), int(text[-2:])
    return (-1 if text[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes)
