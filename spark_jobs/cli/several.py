"""Several: the pipelines of one `sluice drain`, by as few applications as can be.

Each has its lease, report, row in ops.runs and error line, as if it were drained alone. A failure
of one leaves the others.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

import typer

from spark_jobs import log
from spark_jobs.cli.draining import planned, summarise, variables, warm
from spark_jobs.cli.terminal import one_line_errors, say_error
from spark_jobs.contract import registry
from spark_jobs.contract.errors import SluiceError, Stopped, unexpected, worst
from spark_jobs.contract.report import Report, read_report
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.store_errors import translate_store_error
from spark_jobs.launch.foreground import Ended, interrupts, run_in_foreground
from spark_jobs.launch.sharing import Due, killed_at_work, shared
from spark_jobs.launch.submit import TOLD, application, command, together_command
from spark_jobs.runs.run_record import has_row, recorded

LOG = logging.getLogger(__name__)


def drain_several(names: list[str], run_id: str) -> None:
    """Raises typer.Exit with the exit status of the worst, behind all of them."""
    with one_line_errors():
        settings = Settings.from_environment()
    several = Several(settings, run_id)
    with interrupts(second_raises=True) as pressed:
        cold = list[Due]()
        for name in names:
            if not (several.stopped or pressed) and (due := several.begin(name, pressed)):
                cold.append(due)
        applications = shared(cold, settings)
        several.say_shares(applications)
        while applications and not (several.stopped or pressed):
            if left := several.drain(applications.pop(0)):
                applications.insert(0, left)
    for name in names:
        if name not in several.ended:
            several.leave(name)
    LOG.info("%s", several.told(names))
    if problem := worst(several.problems.get(name) for name in names):
        raise typer.Exit(problem.exit_status)


class Several:
    """What came of each pipeline so far."""

    def __init__(self, settings: Settings, run_id: str) -> None:
        self._settings = settings
        self._run_id = run_id
        self.ended = dict[str, str]()
        """Pipeline -> how it ended, in words."""
        self.problems = dict[str, SluiceError]()
        self.stopped = False
        """Whether somebody has asked a run to stop: no other one begins."""

    def begin(self, pipeline: str, pressed: Sequence[int] = ()) -> Due | None:
        """Plan its drain, and do it if a worker takes it and nobody has `pressed` Ctrl-C meanwhile.
        Returns a drain that is left to do.
        """
        with self._of(pipeline):
            registry.load(pipeline)
            with recorded(pipeline, self._run_id):
                if not (due := planned(pipeline, self._settings, self._run_id)):
                    self.ended[pipeline] = "has nothing to do"
                    return None
                if pressed or not (run := warm(due, self._settings, self._run_id)):
                    return due
                if pressed:
                    run.stop()
                self.stopped |= run.follow()
                self._settle(due)
        return None

    def say_shares(self, applications: list[list[Due]]) -> None:
        """Log which drains share an application, and why not all of them."""
        if len(applications) > 1 and not self._settings.local:
            LOG.info(
                "each has an application of its own: Spark's master is %s, and they share a local "
                "one only",
                self._settings.master,
            )
        elif len(applications) > 1:
            LOG.info(
                "%s applications: an application has one set of Spark's options, and specs "
                "differ in `spark`",
                len(applications),
            )

    def drain(self, due: list[Due]) -> list[Due]:
        """Drain them in one application. Returns those that it has left to another one."""
        since = datetime.now(UTC)
        LOG.info("one application drains %s", ", ".join(each.pipeline for each in due))
        try:
            status, asked = self._run(due)
        except Exception:  # whatever it is, each of them tells it, and has its row
            for each in due:
                with self._of(each.pipeline), recorded(each.pipeline, self._run_id, since=since):
                    raise
            return []
        self.stopped |= asked or status == Stopped.exit_status
        reports = [_report(each) for each in due]
        killed = killed_at_work(reports, status)
        left = list[Due]()
        for number, (each, report) in enumerate(zip(due, reports, strict=True)):
            if report is None and number != killed and not self._has_ended(each, since):
                left.append(each)
                continue
            with self._of(each.pipeline), recorded(each.pipeline, self._run_id, since=since):
                self._settle(each)
        return left

    def _run(self, due: list[Due]) -> Ended:
        """Start their application, and wait for its end."""
        if len(due) == 1:
            [one] = due
            words = command(self._settings, one.pipeline, one.report, self._run_id, one.records)
        else:
            words = together_command(self._settings, due, self._run_id)
        return run_in_foreground([*words, TOLD], variables(self._settings), application())

    def _has_ended(self, due: Due, since: datetime) -> bool:
        """Whether it was done though it has no report: its row is written before that."""
        return bool(has_row(due.pipeline, self._run_id, since, self._settings.root))

    def leave(self, pipeline: str) -> None:
        """Say that it is not begun."""
        with self._of(pipeline), recorded(pipeline, self._run_id):
            raise Stopped(
                f"{pipeline}: the command was asked to stop before this pipeline began.",
                "The next run does the same work.",
            )

    def told(self, names: list[str]) -> str:
        """One line for all of them."""
        return f"{len(names)} pipelines: " + "; ".join(
            f"{name} {self.ended[name]}" for name in names
        )

    def _settle(self, due: Due) -> None:
        """What its report says. Raises its problem, or ReportMissing."""
        summarise(read_report(due.report), due.report)
        self.ended[due.pipeline] = "drained"

    @contextmanager
    def _of(self, pipeline: str) -> Iterator[None]:
        """Within the block, lines are this pipeline's; an error is said, and goes no further."""
        try:
            with log.context(pipeline=pipeline, run=self._run_id):
                yield
        except Exception as failure:  # noqa: BLE001 - whatever it is, it is not the others'
            problem = translate_store_error(failure) or unexpected(failure)
            say_error(problem)
            self.problems[pipeline] = problem
            self.stopped |= problem.code == Stopped.code
            self.ended[pipeline] = f"failed ({problem.code})"


def _report(due: Due) -> Report | None:
    with suppress(Exception):  # whoever settles it says why it cannot be read
        return read_report(due.report)
    return None
