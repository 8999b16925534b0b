"""The kind rebuild: what the tasks of a backfill DAG do for it, in their order.

It is `sluice rebuild` (spark_jobs/admin/rebuild/run.py), cut at the question. Each task looks at
the root and at NEXT anew; the swap holds them against what was shown.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import Context

from sluice_airflow.tasks.xcom import APPROVE, SHOWN, to_xcom
from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.errors import LeaseHeld, RangeInvalid, RebuildRefused
from spark_jobs.journal.runner import settle
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import Report
from spark_jobs.registry import find as registry
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from spark_jobs.admin.rebuild.beside import Shown
    from spark_jobs.admin.rebuild.run import Rebuilding, Submit
    from spark_jobs.messages.request import Request
    from spark_jobs.settings.installation import Settings

LOG = logging.getLogger(__name__)


def plan(pipeline: str, settings: Settings, request: Request) -> dict[str, Any]:
    """Log what the rebuild will do.

    Raises what `sluice rebuild` refuses; RangeInvalid for too many records.
    """
    from spark_jobs.admin.rebuild.plan import plan_rebuild, refuse_lost, versions  # noqa: PLC0415 - loads Delta and Kafka's client, which parsing a DAG does not need

    live, following = versions(registry.load(pipeline), settings.root)
    found = plan_rebuild(live, following, settings)
    for line in found.lines:
        LOG.info("%s", line)
    refuse_lost(live, found)
    if found.left > request.most_records:
        raise RangeInvalid.too_many_for_rebuild(
            pipeline=pipeline,
            left=found.left,
            most_records=request.most_records,
        )
    LOG.info(
        "then: the difference by day, a person's approval, always; and the switch, in one step"
    )
    return {"kind": request.kind, "offsets": found.left, "idle": False}


def stage(
    pipeline: str, run: str, settings: Settings, request: Request, submit: Submit
) -> dict[str, Any]:
    """Drain NEXT beside the live table until nothing is left, and merge its late records. Returns
    the sum of the runs' reports, and `waits`: how many late records stay waiting, and why.

    Raises the problem of a run, also a failed check.
    """
    from spark_jobs.admin.rebuild.run import compute  # noqa: PLC0415 - as above

    began = datetime.now(UTC)
    reports, waits = compute(_rebuilding(pipeline, run, settings, request, submit))
    made = to_xcom(
        Report(
            kind=request.kind,
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


def question(waits: str, pipeline: str, settings: Settings) -> tuple[str, Shown]:
    """The question, in Markdown: what a switch would change now, by day. And what it is about,
    which the swap compares (admin/rebuild/beside.py). `waits`: what the stage said of late
    records.
    """
    from spark_jobs.admin.rebuild.beside import shown  # noqa: PLC0415 - as above
    from spark_jobs.admin.rebuild.compare import lines  # noqa: PLC0415 - as above
    from spark_jobs.admin.rebuild.plan import versions  # noqa: PLC0415 - as above
    from spark_jobs.admin.rebuild.run import differing  # noqa: PLC0415 - as above

    live, following = versions(registry.load(pipeline), settings.root)
    paths = Paths(settings.root, live)
    about = shown(paths, following)  # before the look: what comes between is refused
    said = [*lines(differing(paths, following)), *([waits] if waits else [])]
    body = "\n".join(
        (
            f"State version {following.state.version} of `{pipeline}`, NEXT in spec.py, is "
            f"computed beside the live table, which has version {live.state.version}. A switch "
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
    return body, about


def swap(
    context: Context, pipeline: str, run: str, settings: Settings, request: Request, submit: Submit
) -> dict[str, Any]:
    """Switch, after NEXT has caught up with the live pipeline. It may be done again.

    Raises RebuildRefused if nobody has approved in this DAG run, or what is there is not what was
    shown; LeaseHeld while a drain works.
    """
    from spark_jobs.admin.rebuild.beside import COMPUTED, refuse_changed, shown  # noqa: PLC0415 - as above
    from spark_jobs.admin.rebuild.run import switched  # noqa: PLC0415 - as above
    from spark_jobs.checkpoint.identity import read_identity  # noqa: PLC0415 - as above

    answered = _approved(context, pipeline)
    live = live_spec(registry.load(pipeline), settings.root)
    settle(Paths(settings.root, live), run)
    known = read_identity(Paths(settings.root, live))
    if known and answered.get(COMPUTED) in known.generations:
        LOG.info("%s: state version %s drains already", pipeline, live.state.version)
        return {"state_version": live.state.version}
    it = _rebuilding(pipeline, run, settings, request, submit)
    refuse_changed(pipeline, answered, shown(it.paths, it.following))
    fact = switched(it, _refuse_held)
    LOG.info(
        "%s: state version %s drains since now, into table %s", pipeline, fact.version, fact.table
    )
    return {"state_version": fact.version, "table": fact.table}


def _approved(context: Context, pipeline: str) -> Shown:
    """What a person has approved in this DAG run. Raises RebuildRefused if nobody has."""
    answer = context["ti"].xcom_pull(task_ids=APPROVE) or {}
    about: Shown | None = context["ti"].xcom_pull(task_ids=APPROVE, key=SHOWN)
    if answer.get("chosen_options") != ["Approve"] or not about:
        raise RebuildRefused.not_approved(pipeline=pipeline)
    return about


def _rebuilding(
    pipeline: str, run: str, settings: Settings, request: Request, submit: Submit
) -> Rebuilding:
    from spark_jobs.admin.rebuild.plan import versions  # noqa: PLC0415 - as above
    from spark_jobs.admin.rebuild.run import Rebuilding  # noqa: PLC0415 - as above

    live, following = versions(registry.load(pipeline), settings.root)
    return Rebuilding(
        live,
        following,
        settings,
        run,
        request.who,
        submit,
        LOG.info,
        request.most_records,
    )


def _refuse_held(paths: Paths) -> None:
    """Airflow tries again, so nobody waits in a worker's slot."""
    if held := holder(paths.lease):
        raise LeaseHeld.held(folder=paths.lease.parent, holder=held)
