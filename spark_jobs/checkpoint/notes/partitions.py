"""Partitions: how people know a pipeline's, where its spec is not at hand."""

from __future__ import annotations

import json
from typing import NamedTuple

from spark_jobs.checkpoint.notes.live_spec import known_spec
from spark_jobs.spec.inputs import Topics


class Partitions(NamedTuple):
    """Of one pipeline."""

    inputs: Topics | None
    """None if its spec is gone or wrong: what is stored is shown anyway, with its numbers."""

    @property
    def named(self) -> bool:
        """Whether a number alone says too little."""
        return self.inputs is not None and self.inputs.several

    def shown(self, partition: int | str) -> str:
        """As `Topics.shown`."""
        return str(partition) if self.inputs is None else self.inputs.shown(int(partition))

    def offsets(self, stored: str | None) -> str | None:
        """Offsets by partition, as JSON, with the partitions as they are shown."""
        if stored is None or not self.named:
            return stored
        return json.dumps({self.shown(p): at for p, at in json.loads(stored).items()})


def partitions_of(pipeline: str, root: str) -> Partitions:
    """By its spec, and the topics that its checkpoint has."""
    spec = known_spec(pipeline, root)
    return Partitions(spec.inputs if spec else None)
