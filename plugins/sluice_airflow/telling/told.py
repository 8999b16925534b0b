"""Telling a person: once that a problem began, and once that it is over.

A problem is a task of a DAG with a code, or with a check. It is over when the task succeeds without
it. What was told is remembered in Airflow's Variables and not on the root, since a root that does
not answer is a problem too; one Variable a task, so that tasks beside each other do not overwrite
each other's. A kill between sending and remembering tells twice, and never not at all.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from airflow.sdk import Context, Variable

from sluice_airflow import ids
from sluice_airflow.ids import group_of
from sluice_airflow.tasks.checks import CheckOperator
from sluice_airflow.tasks.xcom import DRAIN, PLAN, PUBLISH, REPAIR, report_from_xcom
from sluice_airflow.telling.bounded import Bounded
from sluice_airflow.telling.channels import channels
from sluice_airflow.telling.message import (
    WARNING,
    Message,
    Place,
    Problems,
    began,
    is_over,
    of_checks,
    of_error,
)
from spark_jobs.errors import ReportMissing

SPEC = "spec"
"""The task of a DAG that is refused; the plan of the corrected one ends its problems."""
PREFIX = "sluice_told__"
Channels = Mapping[str, Callable[[Message], None]]
"""Connection -> what sends a message. One that did not answer is not waited for again in a task."""
log = logging.getLogger(__name__)


def on_failure(context: Context) -> None:
    """Airflow calls it when no try of the task is left."""

    def settle() -> None:
        found = _of_checks(context)
        by_checks = any(not key.startswith(WARNING) for key in found or {})
        # A check task may fail though its checks have passed: its worker is lost, say.
        other = {} if by_checks else of_error(context.get("exception"))
        failed = {**(found or {}), **other}
        _settle(_declared(), _place(context), failed, complete=found is not None)

    _guarded(settle)


def on_success(context: Context) -> None:
    """Airflow calls it when the task has succeeded."""

    def settle() -> None:
        to, place, found = _declared(), _place(context), _of_checks(context)
        # Unread checks of a task that has succeeded may still have warnings.
        unread = found is None and isinstance(context["task"], CheckOperator)
        _settle(to, place, found or {}, complete=not unread)
        for task in _also_over(context):
            _settle(to, place._replace(task=task, log=""), {}, complete=True, warnings=False)

    _guarded(settle)


def on_skipped(context: Context) -> None:
    """Airflow calls it when the task repair has skipped itself, as it does in most runs. What it
    could not do before is over if it has found that nothing waits, and else not known to be.
    """
    if getattr(context["task"], "looked", False):
        on_success(context)


CALLBACKS: dict[str, Any] = {"on_failure_callback": on_failure, "on_success_callback": on_success}
"""Arguments of every task that tells of itself."""


def _guarded(work: Callable[[], None]) -> None:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - whatever a library of messages raises
        log.warning("nobody was told: %s", _short(error))


def _declared() -> Channels:
    return {name: Bounded(send) for name, send in channels()}


def _settle(
    to: Channels, place: Place, found: Problems, *, complete: bool, warnings: bool = True
) -> None:
    """Tell what is new, and if `found` is all there is, what is over. `warnings`: those too."""
    if not to:
        return
    variable = f"{PREFIX}{place.dag}__{place.task}"
    before = _remembered(variable)
    gone = [key for key in before if complete and key not in found]
    ended = [key for key in gone if warnings or not key.startswith(WARNING)]
    after = {key: list(names) for key, names in before.items()}
    for name, send in to.items():
        new = {key: line for key, line in found.items() if name not in before.get(key, ())}
        if new and _sent(name, send, began(place, new)):
            for key in new:
                after.setdefault(key, []).append(name)
        over = {key: "" for key in ended if name in before[key]}
        if over and _sent(name, send, is_over(place, over)):
            for key in over:
                after[key].remove(name)
    # A channel that was removed since can be told no more.
    after = {key: kept for key, names in after.items() if (kept := [n for n in names if n in to])}
    if after == before:
        return
    if after:
        Variable.set(variable, json.dumps(after), description="problems that Sluice has told")
    else:
        Variable.delete(variable)


def _sent(name: str, send: Callable[[Message], None], message: Message) -> bool:
    try:
        send(message)
    except Exception as error:  # noqa: BLE001 - one channel must not stop the other, nor the run
        log.warning("%s could not tell %r: %s", name, message.subject, _short(error))
        return False
    log.info("%s told: %s", name, message.subject)
    return True


def _short(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _remembered(variable: str) -> dict[str, list[str]]:
    try:
        value = json.loads(Variable.get(variable, default="{}"))
        return {str(key): [str(name) for name in names] for key, names in value.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _place(context: Context) -> Place:
    ti = context["ti"]
    pipeline = getattr(context["task"], "pipeline", ids.pipeline_of(ti.dag_id))
    return Place(
        pipeline, ti.dag_id, ti.task_id, str(context["run_id"]), str(getattr(ti, "log_url", ""))
    )


def _of_checks(context: Context) -> Problems | None:
    """None of another task, or if its report cannot be read: then the task's own error is told."""
    task = context["task"]
    if not isinstance(task, CheckOperator):
        return None
    try:
        report = report_from_xcom(context, task.of)
    except ReportMissing:
        return None
    except Exception as error:  # noqa: BLE001 - a report of another version, or Airflow's API
        log.warning("the report of %s was not read: %s", task.of, _short(error))
        return None
    return of_checks(tuple(check for check in report.checks if check.suite == task.suite))


def _also_over(context: Context) -> tuple[str, ...]:
    task, group = context["task"].task_id, group_of(context)
    if task == f"{group}{PUBLISH}":
        # A repair behind it is still to come, in this run too.
        others = (name for name in context["dag"].task_ids if name.startswith(group))
        return tuple(name for name in others if name not in {task, f"{group}{REPAIR}"})
    if task != f"{group}{PLAN}":
        return ()
    planned = context["ti"].xcom_pull(task_ids=task) or {}
    # A person has drained on the command line.
    drained = "reasons" in planned and not planned["reasons"]
    return (SPEC, f"{group}{DRAIN}") if drained else (SPEC,)
