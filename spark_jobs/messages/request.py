"""Request: what a person asks of a repair, in Airflow's form or on the command line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Literal, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field as Described,
    WithJsonSchema,
    model_validator,
)

from spark_jobs.errors import RangeInvalid
from spark_jobs.messages.kind import ASKED_KINDS, KINDS, AskedKind, Facts, Reads
from spark_jobs.spec.model import Model, refuse
from spark_jobs.spec.sql import Expression
from spark_jobs.values.spans import FIRST, Span
from spark_jobs.values.times import utc

LONGEST: Final = timedelta(days=3_653)
"""Ten years. A longer range is nearly always a mistyped year, and would read all that Kafka has;
who means all of it computes the table again (`sluice rebuild`).
"""
MEANINGS: Final[dict[str, str]] = {kind: f"{kind}: {KINDS[kind].meaning}" for kind in ASKED_KINDS}
Policy = Literal["unexplained", "always", "never"]
APPROVALS: Final[dict[str, str]] = {
    "None": "as the spec says",
    "unexplained": "if rows change that no late or replayed record explains",
    "always": "always",
    "never": "never",
}
PATTERN: Final = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,6})?)?(Z|[+-]\d{2}:?\d{2}))?$"
"""A day, or a time with its zone, for the form: JSON schema's date-time is not checked there."""


def parse_instant(given: object) -> datetime:
    """A time in UTC, from a datetime with a time zone or from ISO 8601 text with one. A day alone
    is its beginning in UTC.

    >>> parse_instant("2026-03-01"), parse_instant("2026-03-01T01:00+01:00")
    (datetime.datetime(2026, 3, 1, 0, 0, tzinfo=datetime.timezone.utc), \
datetime.datetime(2026, 3, 1, 0, 0, tzinfo=datetime.timezone.utc))
    """
    if isinstance(given, datetime):
        text = given.isoformat()  # a datetime of pendulum, as Airflow has them, becomes a plain one
    else:
        text = given.strip() if isinstance(given, str) else ""
    right = "Write a day (2026-03-01) or a time with its zone (2026-03-01T10:00Z)"
    try:
        found = datetime.fromisoformat(f"{text}T00:00Z" if len(text) == len("2026-03-01") else text)
    except ValueError:
        refuse("", given, "it is not a time", right)
    if found.tzinfo is None:
        refuse("", given, "it has no time zone", right)
    try:
        return utc(found)
    except OverflowError:
        refuse("", given, "it is outside of the years 1 to 9999 in UTC", right)


# A field of this type sets strict=False, so that mypy accepts text for it.
Instant = Annotated[
    datetime,
    BeforeValidator(parse_instant),
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": PATTERN}),
]


class Request(Model):
    """What to compute again, why, and for whom. Its constructor raises RangeInvalid.

    The ends of the range are called `from` and `to` by persons: in the form, on the command line
    and in errors. Code may call them `start` and `end`.
    """

    model_config = ConfigDict(populate_by_name=True)
    refused_as = RangeInvalid

    kind: AskedKind = Described(
        default="repair",
        title="What to do",
        description="`backfill` and `verify` need a range. `repair` and `replay` find their own; a "
        "range bounds them. `rebuild` takes none.",
        json_schema_extra={"values_display": dict(MEANINGS)},
    )
    start: Instant | None = Described(
        default=None,
        strict=False,
        alias="from",
        title="From",
        description="The first time of the range, which is in it, on the axis of event time.",
    )
    end: Instant | None = Described(
        default=None,
        strict=False,
        alias="to",
        title="To",
        description="The end of the range, which is not in it. A window is in the range in which "
        "its last instant is.",
    )
    keys: Expression = Described(
        default="",
        max_length=500,
        title="Keys",
        description="Of a table that follows a key, for `verify` and `backfill`: a SQL condition "
        "of the key's columns, such as `order_id = 7`. `true` means all.",
    )
    approve: Policy | None = Described(
        default=None,
        title="When a person must approve the change",
        description="For this run, in place of the spec's `ranges.approve`; but an `always` there "
        "stands. A rebuild always asks.",
        json_schema_extra={"values_display": dict(APPROVALS)},
    )
    reason: str = Described(
        default="",
        max_length=500,
        title="Only records with this reason",
        description="For `replay`: only quarantined records whose kind and reason, as in "
        "`ops.quarantine`, have this text in them, in capitals or not.",
    )
    note: str = Described(
        default="",
        max_length=500,
        title="Why",
        description="Kept in `ops.repairs`; of a rebuild in Airflow alone.",
    )
    most_records: int = Described(
        default=50_000_000,
        ge=1,
        title="Most records",
        description="The plan is refused if more are to be read.",
    )
    without_lost: bool = Described(
        default=False, description="Compute it although nobody has all of its records any more."
    )
    who: str = Described(default="", max_length=500, description="who asks")

    @classmethod
    def found(cls, kind: AskedKind, who: str, note: str, most_records: int) -> Request:
        """One whose ranges nobody has typed: the planner is given them beside it, however long
        they are.
        """
        return cls.model_construct(kind=kind, who=who, note=note, most_records=most_records)

    def approval(self, of_the_spec: Policy) -> Policy:
        """When a person must agree. A request takes no person away whom the spec always asks.

        With `never` nothing is waved through: what a person would be asked about fails.
        Raises RangeInvalid.
        """
        if self.approve is None:
            return of_the_spec
        if of_the_spec == "always" != self.approve:
            raise RangeInvalid.approve_given(approve=self.approve)
        return self.approve

    @property
    def span(self) -> Span | None:
        """The range; None if none is given."""
        return None if self.start is None or self.end is None else Span(self.start, self.end)

    @property
    def facts(self) -> Facts:
        """What its kind reads and writes."""
        return KINDS[self.kind]

    @model_validator(mode="after")
    def _a_rebuild(self) -> Self:
        if not self.facts.whole:
            return self
        for name, given in (("from", self.start), ("to", self.end)):
            if given is not None:
                refuse(
                    name,
                    _text(given),
                    "a rebuild computes the whole table",
                    "Leave from and to out, or ask for a backfill of the range",
                )
        if self.approve not in (None, "always"):
            refuse(
                "approve",
                self.approve,
                "a rebuild replaces the whole table, so a person always approves it",
                "Leave it out; `sluice rebuild --execute --yes` asks nobody",
            )
        return self

    @model_validator(mode="after")
    def _a_reason(self) -> Self:
        if self.reason and self.facts.reads is not Reads.QUARANTINED:
            refuse(
                "reason",
                self.reason,
                f"{self.kind} uses no record in quarantine by its reason",
                "Leave it out, or ask for a replay",
            )
        if self.reason != self.reason.strip():
            refuse("reason", self.reason, "it begins or ends with a space", "Leave the space out")
        return self

    @model_validator(mode="after")
    def _a_range(self) -> Self:
        if self.keys and not self.facts.given:
            refuse("keys", self.keys, f"{self.kind} finds its own", "Leave it out")
        if (self.start is None) != (self.end is None):
            missing, there = ("from", "to") if self.start is None else ("to", "from")
            refuse(
                missing, None, f"{there} is given without it", f"Give both, or leave out {there}"
            )
        span = self.span
        if span is None:
            if self.facts.given and not self.keys:
                refuse(
                    "from",
                    None,
                    f"{self.kind} computes a given range",
                    "Give from and to, or keys of a table that follows one",
                )
            return self
        if self.keys:
            refuse("keys", self.keys, "a range is given too", "Leave one of them out")
        _refuse_impossible(span)
        return self


def _refuse_impossible(span: Span) -> None:
    if span.empty:
        refuse(
            "to",
            _text(span.end),
            f"it is not after from ({_text(span.start)})",
            "Give a later one: the end itself is not in the range",
        )
    if span.end > (now := datetime.now(UTC)):
        refuse(
            "to",
            _text(span.end),
            "it is in the future, and no row there is final",
            f"Give {_text(now.replace(microsecond=0))} or an earlier time",
        )
    if span.end - span.start > LONGEST:
        refuse(
            "from",
            _text(span.start),
            f"it is {(span.end - span.start).days:,} days before to, more than {LONGEST.days:,}",
            "Correct the year, give shorter ranges one after the other",
        )
    if span.start < FIRST:
        refuse("from", _text(span.start), f"no range is before {FIRST.year}", "Correct the year")


def _text(at: datetime) -> str:
    """As a person writes it.

    >>> _text(datetime(2026, 3, 1, tzinfo=UTC))
    '2026-03-01T00:00:00Z'
    """
    return f"{at.replace(tzinfo=None).isoformat()}Z"
