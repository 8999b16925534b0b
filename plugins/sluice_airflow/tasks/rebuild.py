"""The kind rebuild: what the tasks of a backfill DAG do for it, in their order.

The parts are `sluice rebuild`'s (spark_jobs/rebuild/parts.py).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from sluice_airflow.tasks.rebuild_handed_over import (
    Planned,
    approved,
    refuse_older,
    refuse_other_table,
)
from sluice_airflow.tasks.xcom import to_xcom
from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.notes.live import live_spec
from spark_jobs.errors import LeaseHeld, RangeInvalid, RebuildRefused
from spark_jobs.journal.runner import settle
from spark_jobs.messages.job import Run
from spark_jobs.messages.report import Account, Report
from spark_jobs.registry import find as registry
from spark_jobs.root.paths import Paths
from spark_jobs.settings.installation import Settings

if TYPE_CHECKING:
    from sluice_airflow.tasks.submission import Submission
    from spark_jobs.messages.request import Request
    from spark_jobs.rebuild.run import Rebuilding

LOG = logging.getLogger(__name__)


def plan(pipeline: str, settings: Settings, request: Request) -> Planned:
    """Log what the rebuild will do, and note that it has begun.

    Raises what `sluice rebuild` refuses; RangeInvalid for too many records; LeaseHeld while another
    run drains NEXT.
    """
    from spark_jobs.rebuild.beside import begin, beside_paths  # noqa: PLC0415 - likewise
    from spark_jobs.rebuild.plan import next_of, plan_rebuild, refuse_lost  # noqa: PLC0415 - loads Delta and Kafka's client, which parsing a DAG does not need
    from spark_jobs.rebuild.table_in_question import shown  # noqa: PLC0415 - likewise

    spec = registry.load(pipeline)
    live = live_spec(spec, settings.root, about=False)
    paths = Paths(settings.root, live)
    following = next_of(spec, live, settings.root)
    found = plan_rebuild(live, following, settings)
    for line in found.lines:
        LOG.info("%s", line)
    refuse_lost(spec, found)
    if found.left > request.most_records:
        raise RangeInvalid.too_many_for_rebuild(
            pipeline=pipeline,
            left=found.left,
            most_records=request.most_records,
        )
    side = beside_paths(paths, following)
    if found.begun and (held := holder(side.lease)):
        raise LeaseHeld.held(folder=side.version, holder=held)
    if found.begun is None:
        begin(paths, following, found.topic_id, request.who)
    LOG.info(
        "then: the difference by day, a person's approval, always; and the switch, in one step"
    )
    begun = shown(paths, following)
    return {
        "kind": "rebuild",
        "version": following.state.version,
        "following": begun.following,
        "began": begun.began,
        "who": request.who,
        "offsets": found.left,
        "most_records": request.most_records,
        "idle": False,
    }


def stage(
    planned: Planned, pipeline: str, run: str, settings: Settings, given: tuple[Submission, Any]
) -> dict[str, Any]:
    """Drain NEXT beside the live table until nothing is left, and merge its late records. Returns
    the sum of the runs' reports, and `waits`: how many late records stay waiting, and why.

    Raises the problem of a run, also a failed check.
    """
    from spark_jobs.rebuild.parts import compute  # noqa: PLC0415 - as above

    began = datetime.now(UTC)
    reports, waits = compute(_rebuilding(planned, pipeline, run, settings, given))
    made = to_xcom(
        Report(
            kind="rebuild",
            pipeline=pipeline,
            run_id=run,
            status="succeeded",
            started_at=began,
            ended_at=datetime.now(UTC),
            generation=reports[-1].generation if reports else "",
            account=sum((each.account for each in reports), Account()),
            checks=tuple(check for each in reports for check in each.checks),
        )
    )
    return made | {"waits": waits}


def question(
    planned: Planned, waits: str, pipeline: str, settings: Settings
) -> tuple[str, dict[str, Any]]:
    """The question, in Markdown: what a switch would change now, by day. And what it is about,
    which the swap compares (rebuild/table_in_question.py). `waits`: what the stage said of late
    records.
    """
    from spark_jobs.rebuild.compare import lines  # noqa: PLC0415 - as above
    from spark_jobs.rebuild.parts import differing  # noqa: PLC0415 - as above
    from spark_jobs.rebuild.table_in_question import shown  # noqa: PLC0415 - as above

    it = _rebuilding(planned, pipeline, "", settings, None)
    about = shown(it.paths, it.following)  # before the look: what comes between is refused
    said = [*lines(differing(it)), *([waits] if waits else [])]
    body = "\n".join(
        (
            f"State version {it.following.state.version} of `{pipeline}`, NEXT in spec.py, is "
            f"computed beside the live table, which has version {it.live.state.version}. A switch "
            "would change the table:",
            "",
            "```",
            "\n".join(said).replace("`", "'"),
            "```",
            "",
            "Approve: it reads what the live pipeline has read meanwhile, and switches in one "
            "step; from then on NEXT drains. Reject: the table stays as it is. What is computed "
            f"stays too: another rebuild goes on with it, `sluice rebuild {pipeline} --discard "
            "--execute` removes it.",
        )
    )
    return body, about._asdict()


def swap(
    planned: Planned, context: Context, run: str, settings: Settings, given: tuple[Submission, Any]
) -> dict[str, Any]:
    """Switch, after NEXT has caught up with the live pipeline. It may be done again.

    Raises RebuildRefused if nobody has approved in this DAG run, or what is there is not what was
    shown; LeaseHeld while a drain works.
    """
    from spark_jobs.rebuild.parts import switched  # noqa: PLC0415 - as above
    from spark_jobs.rebuild.table_in_question import refuse_changed, shown  # noqa: PLC0415 - as above

    pipeline = given[0].pipeline
    refuse_older(planned, pipeline)
    answered = approved(context, pipeline)
    live = live_spec(registry.load(pipeline), settings.root)
    completed = settle(Paths(settings.root, live), run)
    fact = None
    if not completed and live.state.version != planned["version"]:
        it = _rebuilding(planned, pipeline, run, settings, given)
        refuse_changed(pipeline, answered, shown(it.paths, it.following))
        fact = switched(it, _refuse_held)
    else:
        refuse_other_table(live, settings, planned, answered)
    if fact is None:
        LOG.info("%s: state version %s drains already", pipeline, live.state.version)
        return {"state_version": live.state.version}
    LOG.info(
        "%s: state version %s drains since now, into table %s", pipeline, fact.version, fact.table
    )
    return {"state_version": fact.version, "table": fact.table}


def _rebuilding(
    planned: Planned,
    pipeline: str,
    run: str,
    settings: Settings,
    given: tuple[Submission, Any] | None,
) -> Rebuilding:
    """Raises RebuildRefused if it is not there any more, was begun again, or NEXT has changed
    since.
    """
    from spark_jobs.checkpoint.notes.rebuild import read_begun  # noqa: PLC0415 - as above
    from spark_jobs.rebuild.beside import refuse_other  # noqa: PLC0415 - as above
    from spark_jobs.rebuild.plan import next_of, plan_rebuild, refuse_lost  # noqa: PLC0415 - as above
    from spark_jobs.rebuild.run import Rebuilding  # noqa: PLC0415 - as above
    from spark_jobs.rebuild.table_in_question import digest  # noqa: PLC0415 - as above

    refuse_older(planned, pipeline)
    spec = registry.load(pipeline)
    live = live_spec(spec, settings.root, about=False)
    following = next_of(spec, live, settings.root)
    paths = Paths(settings.root, live)
    begun = read_begun(paths)
    if begun is None or begun.began.isoformat() != planned["began"]:
        raise RebuildRefused.rebuild_gone(pipeline=pipeline)
    refuse_other(begun, following, begun.topic_id)
    if digest(following) != planned["following"]:
        raise RebuildRefused.next_changed_since_plan(pipeline=pipeline)
    return Rebuilding(
        live,
        following,
        settings,
        run,
        planned["who"],
        submit=_by(given, settings._replace(next="on")),
        say=LOG.info,
        refuse=lambda: refuse_lost(spec, plan_rebuild(live, following, settings)),
        most_records=planned["most_records"],
    )


def _by(given: tuple[Submission, Any] | None, beside: Settings) -> Any:
    def run(arguments: Callable[[Path], Run], run_id: str, records: int) -> Report:
        assert given is not None  # who only compares submits nothing
        submission, keys = given
        return submission.run(beside, keys, run_id, arguments, records)

    return run


def _refuse_held(paths: Paths) -> None:
    """Airflow tries again, so nobody waits in a worker's slot."""
    if held := holder(paths.lease):
        raise LeaseHeld.held(folder=paths.lease.parent, holder=held)
