"""Commands that compute ranges of a table again. Each prints its plan, and applies it with
--execute; verify, which changes nothing, without.
"""

from __future__ import annotations

from typing import Annotated

import typer

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.cli.carry_out import Asked, carry_out, run_id
from spark_jobs.cli.terminal import (
    Execute,
    PipelineName,
    end_undone,
    examples,
    installation,
    one_line_errors,
    say,
    takes_next,
)
from spark_jobs.registry import find as registry
from spark_jobs.storage.root.paths import Paths

commands = typer.Typer(rich_markup_mode="rich")
PANEL = "Compute ranges again"
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="The range's first event time: a day, or a time with its zone.",
        metavar="TIME",
    ),
]
To = Annotated[
    str | None, typer.Option("--to", help="The range's end, which is not in it.", metavar="TIME")
]
Keys = Annotated[
    str,
    typer.Option(
        help="In place of a range, of a table that follows a key: a SQL condition of its columns. "
        "`true` means all keys.",
        metavar="CONDITION",
    ),
]
Note = Annotated[str, typer.Option(help="Why; kept in ops.repairs.")]
Yes = Annotated[bool, typer.Option("--yes", help="Approve the change without a question.")]
MostRecords = Annotated[
    int, typer.Option(help="Refuse to start if more records are to be read.", min=1)
]
WithoutLost = Annotated[
    bool,
    typer.Option(
        "--without-lost",
        help="Go on although some records have no index and are nowhere any more: the plan counts "
        "them. Then the change is always asked about.",
    ),
]
MOST = 50_000_000


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice repair departure_delays  # dry run: what late records touch",
        "sluice repair departure_delays --execute",
    ),
)
@takes_next
def repair(
    pipeline: PipelineName,
    start: From = None,
    end: To = None,
    note: Note = "",
    most_records: MostRecords = MOST,
    without_lost: WithoutLost = False,
    yes: Yes = False,
    execute: Execute = False,
) -> None:
    """Merge the late records: compute the ranges that they touch again, and swap them in.

    Drains go on meanwhile. The table then has what it would have if no record had been late.
    """
    asked = Asked((start, end), note, most_records, without_lost)
    carry_out("repair", pipeline, asked, yes=yes, execute=execute)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice backfill departure_delays --from 2013-02-03 --to 2013-02-04  # dry run",
        "sluice backfill departure_delays --from 2013-02-03 --to 2013-02-04 --execute",
        'sluice backfill orders_now --keys "order_id = 7" --execute',
    ),
)
@takes_next
def backfill(  # noqa: PLR0913, PLR0917 - each is an option
    pipeline: PipelineName,
    start: From = None,
    end: To = None,
    keys: Keys = "",
    note: Note = "",
    most_records: MostRecords = MOST,
    without_lost: WithoutLost = False,
    yes: Yes = False,
    execute: Execute = False,
) -> None:
    """Compute a range of the table again from its records, and swap it in.

    All before it and behind it stays byte for byte.
    """
    asked = Asked((start, end), note, most_records, without_lost, keys=keys)
    carry_out("backfill", pipeline, asked, yes=yes, execute=execute)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice verify departure_delays --from 2013-02-01 --to 2013-03-01",
        "sluice verify departure_delays --from 2013-02-01 --to 2013-03-01 --plan",
        'sluice verify orders_now --keys "order_id % 10 = 0"',
    ),
)
@takes_next
def verify(  # noqa: PLR0913, PLR0917 - as above
    pipeline: PipelineName,
    start: From = None,
    end: To = None,
    keys: Keys = "",
    note: Note = "",
    most_records: MostRecords = MOST,
    without_lost: WithoutLost = False,
    only_plan: Annotated[
        bool,
        typer.Option("--plan", help="Only show what it would read, and about how long it takes."),
    ] = False,
    execute: Annotated[
        bool, typer.Option("--execute", hidden=True, help="It runs anyway: it changes nothing.")
    ] = False,
) -> None:
    """Prove that a range of the table is what its records give. Changes nothing, so it runs at
    once.
    """
    if only_plan and execute:
        raise typer.BadParameter("it is the plan, or the proof.", param_hint="--plan")
    asked = Asked((start, end), note, most_records, without_lost, keys=keys)
    carry_out("verify", pipeline, asked, yes=False, execute=not only_plan)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice replay departure_delays  # dry run: what is good now",
        "sluice replay departure_delays --execute",
        "sluice replay departure_delays --reason distance_miles --execute",
    ),
)
@takes_next
def replay(  # noqa: PLR0913, PLR0917 - each is an option
    pipeline: PipelineName,
    reason: Annotated[
        str,
        typer.Option(
            help="Only records with this text in their kind or reason, as `sluice show quarantine` "
            "has them.",
            metavar="TEXT",
        ),
    ] = "",
    start: From = None,
    end: To = None,
    note: Note = "",
    most_records: MostRecords = MOST,
    without_lost: WithoutLost = False,
    yes: Yes = False,
    execute: Execute = False,
) -> None:
    """Merge the quarantined records that are good by today's spec: correct the topic first.

    Their ranges are computed again with them, as a repair does. What is still bad stays.
    """
    asked = Asked((start, end), note, most_records, without_lost, reason)
    carry_out("replay", pipeline, asked, yes=yes, execute=execute)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice show repairs departure_delays  # lists the repairs",
        "sluice undo departure_delays 20261123T101500-3fa9c1",
    ),
)
@takes_next
def undo(
    pipeline: PipelineName,
    repair_id: Annotated[str, typer.Argument(help="The repair.", metavar="REPAIR")],
    execute: Execute = False,
) -> None:
    """Take one repair back: its ranges get the rows that they had before. Later drains stay."""
    from spark_jobs.repair.manifest import read_manifest  # noqa: PLC0415 - as below
    from spark_jobs.repair.undo import undo as intend  # noqa: PLC0415 - Delta, which the help does not need

    with one_line_errors():
        settings = installation(spec := registry.load(pipeline))
        spec = live_spec(spec, settings.root)
        manifest = read_manifest(Paths(settings.root, spec), repair_id)
        if not execute:
            spans = "; ".join(manifest.parts) or "nothing"
            say(
                f"{pipeline}: would take back {manifest.kind} {repair_id}, which changed {spans}: "
                f"{manifest.added:,} rows added, {manifest.removed:,} removed, "
                f"{manifest.changed:,} changed"
            )
            end_undone()
        done = intend(spec, settings.root, repair_id, run_id("undo"))
        say(f"{pipeline}: repair {repair_id} is undone, version {done.table_version}")
