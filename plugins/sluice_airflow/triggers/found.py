"""Found: what the next drain would find. It writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.live import live_spec
from spark_jobs.registry import find as registry
from spark_jobs.root.paths import Paths
from spark_jobs.source.sources import source_of

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.micro_batch import Offsets


class Waiting(NamedTuple):
    """Of one pipeline's live checkpoint and its topics."""

    done: Offsets
    """Partition -> the offset up to which batches are committed."""
    new: int
    """Offsets behind these."""
    busy: bool
    """Whether somebody holds the pipeline's lease."""


def waiting(pipeline: str, settings: Settings) -> Waiting:
    """Raises what a plan does where Kafka, the root or the checkpoint cannot be read."""
    spec = live_spec(registry.load(pipeline), settings.root)
    paths = Paths(settings.root, spec)
    checkpoint = Checkpoint(paths.checkpoint)
    committed = checkpoint.committed()
    done = checkpoint.batch(committed[-1]).end if committed else {}
    topic = source_of(spec, settings).state()
    first = {**topic.begins, **done}
    new = sum(max(0, end - first.get(p, 0)) for p, end in topic.latest.items())
    return Waiting(done, new, busy=holder(paths.lease) is not None)
