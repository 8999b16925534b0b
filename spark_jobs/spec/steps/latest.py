"""Latest, as a spec declares it. Its Spark code: steps/latest.py; its commits: sink/keyed/."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spans.position import Position
from spark_jobs.spans.span import Span
from spark_jobs.spans.span_sql import Times
from spark_jobs.spec.columns import Columns, refuse_own, refuse_repeated, refuse_unknown
from spark_jobs.spec.duration import Duration
from spark_jobs.spec.model import refuse
from spark_jobs.spec.origin import Origins
from spark_jobs.spec.ranges import Ranges
from spark_jobs.spec.sql.types import Expression
from spark_jobs.spec.steps.step import Balance, EvictedBy, StepBase

COMPARABLE: Final = re.compile(
    r"(tinyint|smallint|int|bigint|decimal\(.*\)|date|timestamp|timestamp_ntz|string)"
)
"""Types whose values Spark, Arrow and delta-rs order alike: double has NaN and -0.0."""


class Latest(StepBase):
    """The present row of each key, however its changes come. A delete is remembered for a while, so
    that an older change brings no row back.

    It keeps no state in Spark: what it remembers is in the table.
    """

    kind: Literal["latest"] = "latest"
    keys: tuple[str, ...] = Described(
        description="the columns of the key: the table has at most one row of each", min_length=1
    )
    order_by: tuple[str, ...] = Described(
        description="columns whose highest values a key's row has, such as the source's log "
        "position; of equal ones the later offset wins",
        min_length=1,
    )
    deletes: Expression | None = Described(
        default=None,
        description="a Spark SQL condition that is true of a record that deletes its key's row",
        min_length=1,
    )
    forget_deletes_after: Duration = Described(
        default=timedelta(days=30),
        strict=False,
        description="`sluice maintain` forgets older deletes; a still older change that comes "
        "behind that brings the row back",
    )
    stateful: Literal[False] = False

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for field, names in (("keys", self.keys), ("order_by", self.order_by)):
            refuse_repeated(field, names)
            refuse_own(field, names)
            if odd := [name for name in names if '"' in name or "`" in name]:
                refuse(field, odd, "Sluice writes the names into SQL, in quotes", "Rename them")
        if both := sorted({*self.keys} & {*self.order_by}):
            refuse("order_by", both, "a key's changes have one value in it", "Leave it out")
        if self.forget_deletes_after <= timedelta():
            refuse(
                "forget_deletes_after",
                str(self.forget_deletes_after),
                "it must be more than 0",
                "Write for example '30 days'",
            )
        return self

    @property
    def evicted_by(self) -> EvictedBy:
        return "nothing"

    @property
    def rows_per_record(self) -> int:
        return 0

    @property
    def update_key(self) -> None:
        return None

    @property
    def balance(self) -> Balance:
        return Balance(
            counted_in="rows", drops_duplicates=False, only_fewer=True, several_per_key=False
        )

    @property
    def logic(self) -> None:
        return None

    @property
    def grouping_window(self) -> None:
        return None

    @property
    def late_after(self) -> None:
        return None

    @property
    def endless(self) -> bool:
        return False

    @property
    def needs_rocksdb(self) -> bool:
        return False

    def state_key(self, columns: Columns) -> Columns:  # noqa: ARG002 - as the other steps
        return ()

    def columns_after(self, columns: Columns) -> Columns:
        refuse_unknown("Latest", "keys", self.keys, columns)
        refuse_unknown("Latest", "order_by", self.order_by, columns)
        return columns

    def types_after(self, types: dict[str, str]) -> dict[str, str]:
        return types

    def origins_after(self, origins: Origins, event_time: str | None) -> Origins:  # noqa: ARG002 - as the other steps
        return origins

    def time_after(self, event_time: str | None) -> None:  # noqa: ARG002 - a delete has none
        return None

    def unranged(self, ranges: Ranges) -> str | None:  # noqa: ARG002 - as the other steps
        return "a change of any time may decide the present row of its key in a Latest"

    def needed(self, positions: Span, delay: timedelta, ranges: Ranges) -> Span:  # noqa: ARG002 - as the other steps
        return positions

    def touched(self, positions: Times, ranges: Ranges) -> Times:  # noqa: ARG002 - as the other steps
        return positions

    def position_after(self, position: Position | None, ranges: Ranges) -> Position | None:  # noqa: ARG002 - as the other steps
        return position
