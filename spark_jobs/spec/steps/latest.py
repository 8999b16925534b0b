"""Latest, as a spec declares it. Its Spark code: steps/latest.py; its rows: steps/keyed/."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.columns import Origins, in_words
from spark_jobs.spec.duration import Duration
from spark_jobs.spec.model import refuse
from spark_jobs.spec.steps.following import Following


class Latest(Following):
    """The present row of each key, however its changes come. A delete is remembered for a while, so
    that an older change brings no row back.

    It keeps no state in Spark: what it remembers is in the table.
    """

    operator: ClassVar = "spark_jobs.steps.latest:LatestOperator"
    kind: Literal["latest"] = "latest"
    forget_deletes_after: Duration = Described(default=timedelta(days=30), strict=False)
    """`sluice maintain` forgets older deletes; a still older change that comes behind that brings
    the row back
    """

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.forget_deletes_after <= timedelta():
            refuse(
                "forget_deletes_after",
                str(self.forget_deletes_after),
                "it must be more than 0",
                "Write for example '30 days'",
            )
        return self

    @property
    def described(self) -> str:
        gone = f"; a row goes where `{self.deletes}`" if self.deletes else ""
        return (
            f"keep the newest row of each {in_words(self.keys)}, by {in_words(self.order_by)}{gone}"
        )

    @property
    def forgets_after(self) -> timedelta:
        return self.forget_deletes_after

    @property
    def row_key(self) -> tuple[str, ...]:
        return self.keys

    def types_after(self, types: dict[str, str]) -> dict[str, str]:
        return types

    def origins_after(self, origins: Origins, event_time: str | None) -> Origins:
        return origins
