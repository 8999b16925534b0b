"""Start: the applications of Spark that run cases, or preview a sample. Needs neither Spark nor a
broker.

A preview goes to the worker, where there is one.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING

from spark_jobs.draft.sample import write
from spark_jobs.launch.submit import INSPECTION_MASTER, command, environment
from spark_jobs.launch.warm.client import asked
from spark_jobs.messages.job import Preview, Prove
from spark_jobs.proof.answer import FILE, SAMPLE, Answer
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings

if TYPE_CHECKING:
    from spark_jobs.draft.sample import Sampled


def commands(
    pipelines: Iterable[str],
    only: Sequence[tuple[str, str]] = (),
    results: Path | None = None,
) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Command and environment for each set of pipelines that take the same options of Spark and the
    same registry of schemas, which their cluster's declaration names: one session serves them.
    `only` and `results` as the job has them.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for name in pipelines:
        spec = registry.load(name)
        key = repr(sorted(spec.spark.items())), spec.inputs.cluster
        alike.setdefault(key, []).append(name)
    for (_, cluster), names in alike.items():
        settings = Settings.from_environment(cluster=cluster, root=None, reads=False)
        if not settings.local:
            settings = settings._replace(master=INSPECTION_MASTER)
        job = Prove(pipelines=tuple(names), only=tuple(only), results=str(results or ""))
        yield command(settings, job), {**os.environ, **environment(settings)}


def ask(pipeline: str, settings: Settings, sample: list[Sampled]) -> Answer | int:
    """What came of the sample; or the exit status of a run that failed, and has said why."""
    # A worker's Python processes may end behind the run.
    with (
        _sigterm_raises(),
        TemporaryDirectory(prefix="sluice-", ignore_cleanup_errors=True) as folder,
    ):
        write(Path(folder) / SAMPLE, sample)
        job = Preview(pipeline=pipeline, folder=folder)
        status = asked(settings, job, len(sample))
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
