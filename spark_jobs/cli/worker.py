"""The command about the workers that keep a JVM between runs."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from spark_jobs.cli.terminal import examples, one_line_errors, say
from spark_jobs.settings.roots import every_root

commands = typer.Typer(rich_markup_mode="rich")
PANEL = "Run a pipeline"


@commands.command(rich_help_panel=PANEL, epilog=examples("sluice worker", "sluice worker stop"))
def worker(
    action: Annotated[
        Literal["status", "stop"],
        typer.Argument(help="status shows them; stop lets them end, behind a run that is at work."),
    ] = "status",
) -> None:
    """Show or stop this machine's workers for warm runs.

    Where SLUICE_WARM lets it, a run starts a worker for its root and user, and another one where
    those that are there are busy and memory is free. It keeps Spark's JVM for the runs after it. It
    ends by itself: when no run came for SLUICE_WARM_IDLE_MINUTES, after SLUICE_WARM_DRAINS, above
    SLUICE_WARM_MEMORY_MB, behind a failed run, where memory becomes short, and when code, jars,
    settings or environment have changed.

    To end a run at work at once, kill the process that it shows: the next run resumes.
    """
    from spark_jobs.launch.warm.fits import lines, shown  # noqa: PLC0415 - other commands need no socket
    from spark_jobs.launch.warm.place import log_path, socket_paths  # noqa: PLC0415 - as above

    with one_line_errors():
        for root in every_root():
            every = [(path, shown(path, ends=action == "stop")) for path in socket_paths(root)]
            said = [each for path, found in every if found for each in lines(found, log_path(path))]
            for line in said or [f"no worker for {root}"]:
                say(line)
