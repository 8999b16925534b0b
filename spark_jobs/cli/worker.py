"""The command about the worker that keeps a JVM between drains."""

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
        typer.Argument(help="status shows it; stop lets it end, behind a drain that is at work."),
    ] = "status",
) -> None:
    """Show or stop this machine's workers for warm drains, one a root.

    With SLUICE_WARM=on, the first drain starts a worker for its root and user. It keeps Spark's JVM
    for the drains after it. It ends by itself: when no drain came for SLUICE_WARM_IDLE_MINUTES,
    after SLUICE_WARM_DRAINS, above SLUICE_WARM_MEMORY_MB, after a failed drain, and when code,
    jars, settings or environment have changed.

    To end a drain at work at once, kill the process that it shows: the next run resumes.
    """
    from spark_jobs.warm.look import lines, shown  # noqa: PLC0415 - other commands need no socket
    from spark_jobs.warm.place import log_path, socket_path  # noqa: PLC0415 - as above

    with one_line_errors():
        for root in every_root():
            socket = socket_path(root)
            found = shown(socket, ends=action == "stop")
            for line in lines(found, log_path(socket)) if found else [f"no worker for {root}"]:
                say(line)
