"""Preview: the application's job: runs a pipeline over a sample of its topic, in a folder that
whoever asked removes.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.checkpoint import no_data_batch
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.draft.disorder import around, disorder
from spark_jobs.draft.sample import read
from spark_jobs.draft.tried import tried
from spark_jobs.proof.answer import FILE, SAMPLE, Answer, Rejected, plain
from spark_jobs.proof.dimensions import in_place
from spark_jobs.proof.records import Sent, append
from spark_jobs.proof.scratch import Scratch, silent
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.late_rule import of_spec
from spark_jobs.spec.duration import interval
from spark_jobs.spec.steps.step import Step

if TYPE_CHECKING:
    from spark_jobs.draft.sample import Sampled
    from spark_jobs.messages.job import Preview
    from spark_jobs.settings.installation import Settings

SHOWN: Final = 10
"""Rows of the table."""
END: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""A watermark that every window and timer is behind, whatever time of day it is."""


def preview(job: Preview, spec: Pipeline, settings: Settings) -> Iterator[str]:
    """Prints nothing: the answer is a file. Raises the problem of the run."""
    folder = Path(job.folder)
    sample = [*read(folder / SAMPLE)]
    with silent():
        answer = _answer(spec, settings, folder, sample)
    (folder / FILE).write_text(answer.model_dump_json())
    yield from ()


def _answer(spec: Pipeline, settings: Settings, folder: Path, sample: list[Sampled]) -> Answer:
    began = time.monotonic()
    spec = in_place(spec, settings.root)
    scratch = Scratch.of(spec, settings, folder, 1 + max(each.partition for each in sample))
    sent = [
        Sent(each.partition, -1 if each.timestamp is None else each.timestamp, *each[3:])
        for each in sample
    ]
    append(scratch.topics[0], sent)
    _drain(scratch, "sample")
    counts, (rows, size) = scratch.counts(), _state(scratch)
    final = _count(scratch)
    if rows and spec.watermark_delay and any(_waits(step) for step in spec.steps):
        _close(scratch)
    columns, shown = _shown(scratch)
    return Answer(
        columns=columns,
        rows=shown,
        row_count=(all_ := _count(scratch)),
        counts=counts,
        rejected=tuple(_rejected(scratch, sample)),
        late=_late(spec, sample, scratch.settings.root),
        state_rows=rows,
        state_bytes=size,
        open_rows=max(0, all_ - final),
        seconds=time.monotonic() - began,
    )


def _waits(step: Step) -> bool:
    """Whether it holds rows back until the watermark passes them."""
    return step.grouping_keys is not None


def _close(scratch: Scratch) -> None:
    """Give the open windows the rows that they would have if no record came any more, by a batch
    without data: Spark runs one that is planned.
    """
    checkpoint = Checkpoint(scratch.paths.checkpoint)
    watermark_ms = int(END.timestamp() * 1000)
    batch = no_data_batch.NoDataBatch(watermark_ms, "the sample has ended")
    no_data_batch.write(checkpoint, batch, datetime.now(UTC))
    _drain(scratch, "close")


def _drain(scratch: Scratch, run_id: str) -> None:
    if problem := scratch.drain(run_id):
        raise problem.error()


def _state(scratch: Scratch) -> tuple[int, int]:
    """Rows and bytes at the end of the last batch."""
    sql = "SELECT state_rows, state_bytes FROM batches ORDER BY batch_id DESC LIMIT 1"
    found = scratch.query("batches", sql)
    return next(((each["state_rows"] or 0, each["state_bytes"] or 0) for each in found), (0, 0))


def _count(scratch: Scratch) -> int:
    rows = scratch.rows()
    return 0 if rows is None else rows.count()


def _shown(scratch: Scratch) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
    rows = scratch.rows()
    if rows is None:
        return (), ()
    found = rows.limit(SHOWN).toArrow().to_pylist()
    return tuple(rows.columns), tuple(
        tuple(plain(each[name]) for name in rows.columns) for each in found
    )


def _rejected(scratch: Scratch, sample: Sequence[Sampled]) -> Iterator[Rejected]:
    """The most frequent first, with offsets as the topic has them: the folder counts from 0."""
    offsets = defaultdict[int, list[int]](list)
    for each in sample:
        offsets[each.partition].append(each.offset)
    sql = 'SELECT kind, reason, partition, "offset" FROM quarantine'
    found = defaultdict[tuple[str, str], list[tuple[int, int]]](list)
    for row in scratch.query("quarantine", sql):
        found[row["kind"], row["reason"]].append((row["partition"], row["offset"]))
    for (kind, reason), places in sorted(found.items(), key=lambda pair: -len(pair[1])):
        partition, line = min(places)
        yield Rejected(
            kind=kind,
            reason=reason,
            records=len(places),
            partition=partition,
            offset=offsets[partition][line],
        )


def _late(spec: Pipeline, sample: Sequence[Sampled], root: str) -> dict[str, float]:
    """Watermark delay -> the share that would be late, if each record came in a batch of its own;
    nothing where no step asks.
    """
    if spec.watermark_delay is None:
        return {}
    arrived = sorted(sample, key=lambda each: (each.timestamp or 0, each.partition, each.offset))
    found = disorder(tried(spec.inputs[0], arrived, root).times_ms)
    all_ = max(1, len(found.times))
    delays = around(spec.watermark_delay, most=5)
    return {interval(each): found.late(each, of_spec(spec, each)) / all_ for each in delays}
