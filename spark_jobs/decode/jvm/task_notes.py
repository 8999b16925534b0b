"""Task notes: what the tasks of one query noted in the JVM, read in the driver."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.decode.json.unnamed import Task, UnnamedKeys
from spark_jobs.decode.slices import Slice, Times

if TYPE_CHECKING:
    from spark_jobs.spec import Topic


class TaskNotes(NamedTuple):
    """Of one topic."""

    noted: Any
    """sluice.decode.Notes, of which Python has no type."""
    topic: Topic

    def slices(self) -> list[Slice]:
        """Those that came since the last call."""
        return [_slice(*map(int, line.split())) for line in self.noted.slices().splitlines()]

    def keys(self) -> Task:
        """Keys that no field names, in the records that tasks have looked at."""
        found = UnnamedKeys(self.topic)
        looked_at, *lines = self.noted.samples().splitlines()
        for line in lines:
            partition, offset, value = line.split()
            found.look_at(b64decode(value), int(partition), int(offset))
        return int(looked_at), found.task[1]


def _slice(*numbers: int) -> Slice:
    partition, first, last, records, low, high, soon, far, late, old, new = numbers
    times, ahead, late_times = Times(low, high), Times(soon, far), Times(old, new)
    return Slice(partition, first, last, records, times, ahead, late, late_times)
