"""Start: the commands of spark-submit that run cases. Needs neither Spark nor a broker."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from spark_jobs.launch.submit import INSPECTION_MASTER, command, environment
from spark_jobs.messages.job import Prove
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings


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
