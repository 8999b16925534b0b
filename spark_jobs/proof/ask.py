"""Ask: a preview by an application of Spark, or by the worker that there is. Needs no Spark."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING, Final

from spark_jobs.draft import kept
from spark_jobs.launch import relay
from spark_jobs.launch.submit import command, environment
from spark_jobs.launch.warm.client import begun
from spark_jobs.messages.job import Preview
from spark_jobs.proof.answer import FILE, SAMPLE, Answer

if TYPE_CHECKING:
    from spark_jobs.draft.sample import Sampled
    from spark_jobs.settings.installation import Settings

STDOUT: Final = 1
STDERR: Final = 2


def ask(pipeline: str, settings: Settings, sample: list[Sampled]) -> Answer | int:
    """What came of the sample; or the exit status of a run that failed, and has said why."""
    # A worker's Python processes may end behind the run.
    with (
        _sigterm_raises(),
        TemporaryDirectory(prefix="sluice-", ignore_cleanup_errors=True) as folder,
    ):
        kept.write(Path(folder) / SAMPLE, sample)
        job = Preview(pipeline=pipeline, folder=folder)
        variables, many = {**os.environ, **environment(settings)}, len(sample)
        if warm := begun(settings, pipeline, job.words(), variables, many, (STDOUT, STDERR)):
            try:
                warm.follow()
            except BaseException:
                warm.kill()
                raise
            status = warm.status
        else:
            status = relay.run(command(settings, job, many), variables)
        path = Path(folder) / FILE
        if status or not path.exists():
            return status or 1
        return Answer.model_validate_json(path.read_bytes())


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Within the block, SIGTERM ends it as Ctrl-C does: the folder has values of records."""

    def end(number: int, _frame: FrameType | None) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
