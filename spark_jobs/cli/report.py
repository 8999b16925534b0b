"""The command that shows the charts of a pipeline in a terminal, or writes them into a file."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.cli.terminal import (
    PipelineName,
    examples,
    one_line_errors,
    require_readable,
    say,
)
from spark_jobs.registry import find as registry
from spark_jobs.settings.roots import root_of
from spark_jobs.storage.root.files import replacing
from spark_jobs.storage.root.paths import Paths

commands = typer.Typer(rich_markup_mode="rich")
PANEL = "Inspect"


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice report departure_delays",
        "sluice report departure_delays --html departure_delays.html",
        "sluice report departure_delays --html report.html --last 500",
    ),
)
def report(
    pipeline: PipelineName,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file to write. A file of this name is replaced. Without it, the charts are "
            "shown as lines of blocks.",
            dir_okay=False,
        ),
    ] = None,
    last: Annotated[
        int, typer.Option(help="Number of newest runs and batches to show.", min=1, max=5_000)
    ] = 60,
) -> None:
    """Show the charts of a pipeline over time, or write them into one HTML file.

    The file needs no network. It has no keys and no values of records. Starts no JVM,
    and writes nothing under the root.
    """
    from spark_jobs.pages import growth as growth_words  # noqa: PLC0415
    from spark_jobs.pages.chart import lines  # noqa: PLC0415
    from spark_jobs.pages.growth import growth  # noqa: PLC0415
    from spark_jobs.pages.report import figures, report as written  # noqa: PLC0415 - Delta and Jinja, which the help does not need
    from spark_jobs.prove.covered import covered  # noqa: PLC0415 - as above

    with one_line_errors():
        spec = registry.load(pipeline)
        require_readable(where := root_of(spec))
        spec = live_spec(spec, where)
        if html is None:
            at = Paths(where, spec).root
            charts = map(lines, figures(at, pipeline, spec, last, 0).charts)
            growing = growth_words.lines(growth(at, spec), datetime.now(UTC))
            for line in chain(*charts, growing):
                say(line)
            return
        text = written(spec, where, datetime.now(UTC), last, covered)
        try:
            with replacing(html.absolute()) as partial:
                partial.write_text(text, encoding="utf-8")
        except OSError as error:
            raise typer.BadParameter(
                f"{html} cannot be written: {error.strerror or error}", param_hint="--html"
            ) from None
    say(f"{html}: {len(text):,} characters; open it in a browser")
