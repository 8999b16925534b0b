"""The fates that `sluice where` tells, asked in this process's session."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from spark_jobs.launch.question import put
from spark_jobs.messages.job import Where
from spark_jobs.settings.installation import Settings
from spark_jobs.source.place import Place
from spark_jobs.spec import Pipeline
from spark_jobs.where.again import Ask
from spark_jobs.where.ask import Question, answered
from spark_jobs.where.by_spark import tell
from spark_jobs.where.fate import Fate
from spark_jobs.where.tell import Telling


def asking(spec: Pipeline, settings: Settings, jobs: list[Any] | None = None) -> Ask:
    """What Spark says, as of an application. `jobs` gets what was asked."""

    def ask(question: Question) -> Any:
        if jobs is not None:
            jobs.append(question)
        with TemporaryDirectory(prefix="where-") as folder:
            put(question, Path(folder))
            [*tell(Where(pipeline=spec.name, folder=folder), spec, settings)]
            return answered(Path(folder))

    return ask


def fates(
    spec: Pipeline,
    settings: Settings,
    places: Iterable[tuple[int, ...]],
    jobs: list[Any] | None = None,
) -> dict[tuple[int, ...], Fate]:
    """Of each, by partition and offset; by element too, if a value has many."""
    found = Telling(spec, settings, asking(spec, settings, jobs)).fates(
        [Place(*each) for each in places]
    )
    return {each.place if each.place.number is not None else each.place[:2]: each for each in found}
