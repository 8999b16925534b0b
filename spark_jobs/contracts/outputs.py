"""Outputs: what consumers of the published table, and who reads its events, rely on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from spark_jobs.contracts.finding import Finding, Whom

if TYPE_CHECKING:
    from spark_jobs.contracts.contract import Column, Contract

    Columns = dict[str, Column]

BREAKS: Final = (Whom.consumers,)
TELL = "keep it until its consumers do without"


def of_outputs(was: Contract, now: Contract) -> Iterator[Finding]:
    """What consumers see of the change once it is published."""
    if was.columns is not None and now.columns is not None:
        yield from _columns(was.columns, now.columns)
    elif _made(was) != _made(now):
        yield Finding("the columns: only Spark can tell them, behind a Transform with sql")
    if was.key != now.key:
        before, after = (", ".join(each) or "none" for each in (was.key, now.key))
        yield Finding(f"the key of a row: was {before}, is {after}", BREAKS, TELL)
    modes = [of.fingerprint["output_mode"] for of in (was, now)]
    if modes[0] != modes[1]:
        what = f"output_mode: was {modes[0]}, is {modes[1]}: rows are written in another way"
        yield Finding(what, BREAKS, "streams over the table lose rows: read batches")
    if was.publish_at and not now.publish_at:
        what = "publish_at: what was published whole may show in part"
        yield Finding(what, BREAKS, TELL)
    if was.days and not now.days:
        what = "the asset with an event a day is gone: no range can be computed by itself"
        yield Finding(what, BREAKS, "schedule its consumers by the table's asset")


def _made(of: Contract) -> dict[str, object]:
    of_columns = ("steps[", "topic.fields.")
    return {name: value for name, value in of.fingerprint.items() if name.startswith(of_columns)}


def _columns(was: Columns, now: Columns) -> Iterator[Finding]:
    new = {name: now[name] for name in now if name not in was}
    for name, column in was.items():
        if name in now:
            yield from _column(name, column, now[name])
        elif renamed := _renamed(column, new):
            del new[renamed]
            yield Finding(f"column {name} is named {renamed}", BREAKS, TELL)
        else:
            yield Finding(f"column {name} is gone", BREAKS, TELL)
    for name, column in new.items():
        yield Finding(f"column {name} {column.type or ''}".rstrip() + " is new")


def _column(name: str, was: Column, now: Column) -> Iterator[Finding]:
    if was.type and now.type and was.type != now.type:
        yield Finding(f"column {name}: was {was.type}, is {now.type}", BREAKS, TELL)
    if was.nullable is False and now.nullable:
        yield Finding(f"column {name} may be null now", BREAKS, "tell its consumers")


def _renamed(column: Column, new: Columns) -> str | None:
    same = (
        name
        for name, each in new.items()
        if column.made_of and (each.made_of, each.type) == (column.made_of, column.type)
    )
    return next(same, None)
