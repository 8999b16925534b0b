"""Answer: the state as `sluice state --keep` read it last, in a file beside the checkpoint, for the
views: a page starts no Spark.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from pydantic import Field as Described

from spark_jobs.checkpoint.notes.stored import Stored
from spark_jobs.errors import StateUnreadable
from spark_jobs.errors.visible import visible
from spark_jobs.messages.part import Part

if TYPE_CHECKING:
    from spark_jobs.root.paths import Paths

MOST_ROWS: Final = 200
"""Rows of one variable that are kept, whatever --limit says."""
MOST_CELL: Final = 200
"""Characters of one value that are kept."""


class VariableAnswer(Part):
    """One variable of a step, or the whole state of a step without named variables."""

    title: str = Described(description="its name and how many rows it has")
    total: int = Described(description="its rows")
    columns: tuple[str, ...] = Described(description="names of key and value columns")
    rows: tuple[tuple[str, ...], ...] = Described(
        description="its first rows, by key, as text; none if SLUICE_RECORD_BYTES is hidden"
    )


class StepAnswer(Part):
    """One stateful step."""

    step: int = Described(description="its number, from 1")
    kind: str = Described(description="deduplicate, aggregate or group_state")
    operator: str = Described(description="Spark's name of it")
    partitions: int = Described(description="its state stores")
    variables: tuple[VariableAnswer, ...] = Described(description="what it stores")


class StateAnswer(Stored):
    """The content of state.json."""

    generation: str = Described(description="the checkpoint's generation")
    batch: int = Described(description="the state is that after this batch")
    watermark: datetime | None = Described(description="Spark's watermark then")
    read_at: datetime = Described(description="when it was read")
    steps: tuple[StepAnswer, ...] = Described(description="the stateful steps")

    def without_rows(self) -> StateAnswer:
        """What a person may see who may not see the bytes of records."""
        return self.model_copy(update={"steps": tuple(map(_without_rows, self.steps))})


def cells(row: tuple[str, ...]) -> tuple[str, ...]:
    """A row as it is kept."""
    return tuple(visible(text, MOST_CELL) for text in row)


def read_answer(paths: Paths) -> StateAnswer | None:
    """The last kept one; None without one. Raises StateUnreadable if it does not parse,
    FormatNewer.
    """
    path = paths.state_answer
    try:
        return StateAnswer.read(path) if path.exists() else None
    except ValueError:
        raise StateUnreadable.kept_unreadable(path=path, pipeline=paths.pipeline) from None


def _without_rows(step: StepAnswer) -> StepAnswer:
    variables = tuple(each.model_copy(update={"rows": ()}) for each in step.variables)
    return step.model_copy(update={"variables": variables})
