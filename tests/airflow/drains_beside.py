"""What a spark-submit does for a rebuild in a test: drain NEXT, and leave the report."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.messages.job import Drain, read
from spark_jobs.ops import ops_tables
from spark_jobs.spec import State
from spark_jobs.storage.root.paths import Paths
from tests.harness import roots
from tests.unit.drains import SPEC, Drains, began
from tests.unit.specs import deduplicate

NEXT = SPEC.model_copy(update={"state": State(version=2), "steps": (deduplicate(),)})
"""Its rows are compared as they are: the tables of `Drains` have no column of a group."""
END = "OFFSETS_OF_THE_TOPIC"
"""The variable with the number of records in the one partition."""
LATE = datetime(2026, 3, 1, tzinfo=UTC)
"""Of the one record that was late."""


def main(words: list[str]):
    root, end = os.environ["SLUICE_ROOT"], int(os.environ[END])
    job = read(words[-1:])
    assert isinstance(job, Drain)
    assert job.pipeline == SPEC.name
    done = Checkpoint(Paths(root, NEXT).checkpoint).committed()
    side = Drains.of(root, NEXT) if done else Drains(Path(root), NEXT, "g2")
    batches = range(len(done), end)
    side.drain(batches[0], batches[-1])
    began(side, "g2")
    late = {"pipeline": SPEC.name, "generation": "g2", "batch_id": 0, "partition": 0, "offset": 0}
    ops_tables.replace(side.paths.root, "late", [late | {"event_time": LATE}], "generation = 'g2'")
    now = datetime.now(UTC)
    done = roots.report(SPEC.name, job.run_id, at=now, generation="g2", batches=tuple(batches))
    done.write(Path(job.report))


if __name__ == "__main__":
    main(sys.argv)
