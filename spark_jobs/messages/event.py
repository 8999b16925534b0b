"""The asset event of a published table version: what a consumer needs to read the rows
that passed.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Final

from pydantic import Field as Described

from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.part import Part, UpTo
from spark_jobs.messages.report import Report
from spark_jobs.values.spans import Span


class Decision(Part):
    """A failed check that a person accepted (`sluice accept`)."""

    check: str = Described(description="the check's name")
    reason: str = Described(description="why it was accepted")
    by: str = Described(description="who accepted it")
    at: datetime = Described(description="when")
    unexpected: int = Described(default=0, description="rows that failed it")


class Repaired(Part):
    """A repair whose rows are new in the table, or the undo of one."""

    repair_id: str = Described(description="the repair; of an undo, `<repair>/undo`")
    kind: str = Described(description="repair, backfill or replay")
    ranges: tuple[Span, ...] = Described(
        description="the ranges of positions that were computed again: each its start and its end"
    )
    added: int = Described(description="rows that the table lacked")
    removed: int = Described(description="rows that it has no longer")
    changed: int = Described(description="rows that have other values now")
    merged: int = Described(description="late and quarantined records that are in the rows now")


class Event(Part):
    """The event's `extra`, as JSON.

    The account is of everything since the event before. An event may be told twice, with one
    number.
    """

    number: int = Described(
        description="counts the pipeline's events from 1, without a gap: one whose number a "
        "consumer has had is that event again"
    )

    table: str = Described(description="the Delta table: a path or a URL")
    published_table: str | None = Described(
        default=None,
        description="the Delta table of all judged rows and no others; null for an archive",
    )
    pipeline: str = Described(description=Report.model_fields["pipeline"].description)
    run_id: str = Described(description="the run that wrote the newest of these rows")
    generation: str = Described(
        description="the checkpoint's generation: another one after a reset or a rewind"
    )
    table_version: int = Described(description="the table version to read")
    table_version_before: int | None = Described(
        description="that of the event before; null for the first, and after a reset or a switch"
    )
    account: Account = Described(
        description="what happened to each offset since that version, summed over the batches"
    )
    watermark: datetime | None = Described(description=Report.model_fields["watermark"].description)
    offsets_end: dict[str, int] = Described(
        description=Report.model_fields["offsets_end"].description
    )
    up_to: UpTo | None = Described(
        default=None, description=Report.model_fields["up_to"].description
    )
    decisions: tuple[Decision, ...] = Described(
        default=(), description="the failed checks that persons accepted for these rows"
    )
    repairs: tuple[Repaired, ...] = Described(
        default=(), description="the repairs since that version, and the undos, in their order"
    )
    days: tuple[date, ...] = Described(
        default=(),
        description="the days (UTC) whose rows are final since that version, or were changed by a "
        "repair since; empty if no range of the output can be computed again",
    )


FIELDS: Final[dict[str, str]] = {
    name: field.description or "" for name, field in Event.model_fields.items()
}
"""The fields of the event's `extra`, with their meaning."""
