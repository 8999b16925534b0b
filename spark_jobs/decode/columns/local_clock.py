"""Local clock: text of a declared pattern to times (spec/fields/local_time.py)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from spark_jobs.decode.columns.column import Wrong
from spark_jobs.spec import Local
from spark_jobs.spec.fields.local_time import MONTHS, offset

NOON = 12


class LocalClock:
    """Reads the times of one field."""

    def __init__(self, local: Local) -> None:
        self._local = local
        self._zone = ZoneInfo(local.zone) if local.zone else None
        self._match = local.expression.fullmatch

    def read(self, text: str) -> datetime:
        """In UTC; without a zone where the pattern has none. Raises ValueError: what is wrong."""
        found = self._match(text)
        if found is None:
            raise Wrong(f"is text that is not {self._local.pattern}")
        parts = found.groupdict()
        month = MONTHS.index(parts["b"]) + 1 if "b" in parts else int(parts["m"])
        hour = int(parts.get("H", 0))
        if "I" in parts:
            if not 1 <= int(parts["I"]) <= NOON:
                raise Wrong("is no time of day")
            hour = int(parts["I"]) % NOON + NOON * (parts["p"] == "PM")
        try:
            at = datetime(  # noqa: DTZ001 - it gets its zone below
                int(parts["Y"]),
                month,
                int(parts["d"]),
                hour,
                int(parts.get("M", 0)),
                int(parts.get("S", 0)),
                int(parts.get("f", "0")[:6].ljust(6, "0")),
            )
            if "z" in parts:
                return at.replace(tzinfo=UTC) - offset(parts["z"])
            return at if self._zone is None else self._in_utc(at, self._zone)
        except OverflowError:
            raise Wrong("is a time outside the years 1 to 9999 in UTC") from None
        except Wrong:
            raise
        except ValueError:
            raise Wrong("is no date or time of day") from None

    def _in_utc(self, at: datetime, zone: ZoneInfo) -> datetime:
        first, second = (at.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1))
        assert first is not None
        assert second is not None
        if first != second:
            # Where the clock goes forward, the later offset is the larger one.
            if second > first:
                raise Wrong(f"is a time that the clock of {zone.key} skips")
            if self._local.twice == "malformed":
                raise Wrong(f"is a time that the clock of {zone.key} has twice")
        ahead: timedelta = second if self._local.twice == "second" else first
        return at.replace(tzinfo=UTC) - ahead
