"""A table beside the stream of which only the versions matter, and a step that names it."""

import json
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from spark_jobs.spec.side import SideTable
from spark_jobs.spec.steps.step import Balance, Step
from spark_jobs.storage.pin import Changed, Pin


class Numbered(SideTable):
    """Its versions are numbers in a file, which has no rows."""

    side: ClassVar = "tests.unit.beside:NumberedSide"
    path: str = Field(exclude=True)


class NumberedSide:
    def __init__(self, declared: Numbered, _: object) -> None:
        self.id, self.first, self.last = json.loads(Path(declared.path).read_text())
        self.changes = Path(f"{declared.path}.changes")

    def now(self) -> Pin:
        return Pin(table_id=self.id, version=self.last)

    def has(self, pin: Pin) -> bool:
        return pin.table_id == self.id and self.first <= pin.version <= self.last

    def changed(self, _, since: Pin, until: Pin):
        """By a file beside: version -> what it has otherwise than the one before."""
        for version in range(since.version + 1, until.version + 1):
            for each in json.loads(self.changes.read_text()).get(str(version), ()):
                key, *times = each
                yield Changed(key, *(at and datetime.fromisoformat(at) for at in times))


class LookUp(Step):
    operator: ClassVar = "none"
    kind: Literal["look_up"] = "look_up"
    stateful: Literal[False] = False
    tables: tuple[Numbered, ...]
    by: dict[str, str] = Field(default_factory=dict)
    sides = property(lambda self: self.tables)
    balance: ClassVar = Balance("rows", False, True, False)
    described: ClassVar = "look up"

    def found_by(self, _):
        return self.by

    def columns_after(self, columns):
        return columns

    def types_after(self, types):
        return types

    def origins_after(self, origins, _):
        return origins

    def time_after(self, event_time):
        return event_time
