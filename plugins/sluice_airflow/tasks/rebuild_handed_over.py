"""What later tasks of a rebuild take from earlier ones by XCom, and what they refuse of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from sluice_airflow.tasks.xcom import APPROVE, SHOWN
from spark_jobs.errors import RebuildRefused
from spark_jobs.root.paths import Paths
from spark_jobs.settings.installation import Settings

if TYPE_CHECKING:
    from spark_jobs.rebuild.table_in_question import Shown
    from spark_jobs.spec import Pipeline

Planned = dict[str, Any]
"""What the task plan hands over: kind, version (NEXT's), following (its digest), began (when the
rebuild began), who, offsets (to read), most_records.
"""
NEEDED = ("version", "following", "began", "who", "most_records")
"""The fields of it without which no later task goes on."""


def approved(context: Context, pipeline: str) -> Shown:
    """What a person has approved in this DAG run. Raises RebuildRefused if nobody has."""
    from spark_jobs.rebuild.table_in_question import Shown  # noqa: PLC0415 - loads Delta, which parsing a DAG does not need

    answer = context["ti"].xcom_pull(task_ids=APPROVE) or {}
    about = context["ti"].xcom_pull(task_ids=APPROVE, key=SHOWN)
    if answer.get("chosen_options") != ["Approve"] or not about:
        raise RebuildRefused.not_approved(pipeline=pipeline)
    if set(about) != set(Shown._fields):
        raise RebuildRefused.question_of_other_version(pipeline=pipeline)
    return Shown(**about)


def refuse_older(planned: Planned, pipeline: str) -> None:
    """Raise RebuildRefused if another version of Sluice has planned, and left less than is needed:
    an upgrade came while the DAG run waited.
    """
    if missing := [field for field in NEEDED if field not in planned]:
        raise RebuildRefused.plan_of_other_version(pipeline=pipeline, missing=", ".join(missing))


def refuse_other_table(
    live: Pipeline, settings: Settings, planned: Planned, approved: Shown
) -> None:
    """Raise RebuildRefused if the table that drains now is not what was shown: somebody else's
    switch, or way back, came before.
    """
    from spark_jobs.checkpoint.identity import read_identity  # noqa: PLC0415 - as above

    known = read_identity(Paths(settings.root, live))
    generations = known.generations if known else ()
    if live.state.version == planned["version"] and approved.computed in ("", *generations):
        return
    raise RebuildRefused.switched_otherwise(pipeline=live.name, version=live.state.version)
