"""`python -m local.stack.demo`: flights in deliveries through the stack that runs, and what came
out held against their ledger.

Runs in a container of the stack (docker-compose.yml, producer). What the drains did it hears from
Airflow, by the reports that they hand on to the tasks after them: those of the runs that it
triggers, and of scheduled ones that come between.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from local import ledger, summary
from local.airflow import Airflow, AirflowError
from local.airflow_api import ENDED, Api
from local.deliveries import Delivered, deliver, split
from local.demo import PARTITIONS, TOPIC, WIDTH, Clock
from local.flights import flight_events
from local.nycflights import FIRST_DAY, FlightDataError
from local.publish import PublishError, publish
from local.stack.secrets import USER
from spark_jobs.errors import SluiceError
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import Report
from spark_jobs.registry import find as registry
from spark_jobs.settings.kafka.config import KafkaConfig

DATA = Path("/data")
URL = "http://airflow-api:8080"
DRAIN = "drain"

console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=WIDTH)


def demo(
    months: Annotated[
        int, typer.Option(min=1, max=12, help="Months of flights, from January 2013 on.")
    ] = 2,
    deliveries: Annotated[
        int, typer.Option(min=1, help="Parts in which they arrive; each is a run of every DAG.")
    ] = 3,
    seed: Annotated[
        int, typer.Option(help="Decides duplicates, delays and malformed records.")
    ] = 7,
    first: Annotated[
        int,
        typer.Option(
            min=1, help="The delivery to begin with; those before it were published earlier."
        ),
    ] = 1,
    last: Annotated[
        int | None, typer.Option(help="The delivery to end with; default: all.")
    ] = None,
    publish_only: Annotated[
        bool, typer.Option("--publish-only", help="Leave it to Airflow's schedule to drain them.")
    ] = False,
) -> None:
    """Publish, let Airflow drain, and hold what its runs say against the ledger.

    Example: python -m local.stack.demo --months 1 --deliveries 2
    """
    clock = Clock()
    kafka = KafkaConfig.read(os.environ["SLUICE_KAFKA_CONFIG"])
    password = json.loads(Path("/run/secrets/airflow_passwords").read_text())[USER]
    clock.say(f"playing {months} months of flights")
    parts = list(
        enumerate(split(deliver(flight_events(FIRST_DAY, months), seed=seed), deliveries), 1)
    )[first - 1 : last]
    if publish_only:
        for number, part in parts:
            _publish(clock, kafka, number, part)
        return
    _play(clock, kafka, password, parts)


def _play(
    clock: Clock,
    kafka: KafkaConfig,
    password: str,
    parts: Sequence[tuple[int, Sequence[Delivered]]],
) -> None:
    """Publish and drain the deliveries, by number, one after the other; show what came of all."""
    reports: dict[tuple[str, int], Report] = {}
    with Api(Airflow(DATA, URL, USER, password)) as api:
        api.await_dags(set(registry.names()))
        for number, part in parts:
            # A scheduled run that begins while the delivery is published drains a part of it, and
            # counts.
            since = datetime.now(UTC)
            _publish(clock, kafka, number, part)
            reports |= _drained(clock, api, number, since)
    _show(reports)


def _publish(clock: Clock, kafka: KafkaConfig, number: int, part: Sequence[Delivered]) -> None:
    client = tuple(sorted(kafka.librdkafka().items()))
    counts = publish(kafka.brokers, TOPIC, part, number, DATA / "ledger", PARTITIONS, client)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    clock.say(f"delivery {number}: {len(part):,} records published ({kinds})")


def _drained(clock: Clock, api: Api, number: int, since: datetime) -> dict[tuple[str, int], Report]:
    """Run every DAG over what has been published: pipeline and delivery -> what the runs `since`
    then report, as one.
    """
    run_id = f"delivery-{number}-{datetime.now(UTC):%H%M%S}"
    for name in registry.names():
        api.trigger(name, run_id)
    states = api.wait(run_id, registry.names(), clock.say)
    found: dict[tuple[str, int], Report] = {}
    for name, state in states.items():
        if state != "success":
            for line in api.errors(name, run_id):
                clock.say(line)
            message = f"{name} failed in {run_id}; its task logs are in Airflow's UI"
            raise AirflowError(message)
        runs = [run for run, ended in sorted(api.runs(name, since).items()) if ended in ENDED]
        given = [
            Report.model_validate(value)
            for run in runs
            if (value := api.handed_over(name, run, DRAIN))
        ]
        if not given:
            message = f"{name} has drained nothing since delivery {number} was published"
            raise AirflowError(message)
        found[name, number] = _joined(given)
    return found


def _joined(reports: Sequence[Report]) -> Report:
    newest = max(reports, key=lambda report: report.ended_at)
    return newest.model_copy(
        update={"account": sum((report.account for report in reports), Account())}
    )


def _show(reports: summary.Reports) -> None:
    console.print()
    summary.show_runs(console, reports)
    summary.show_checks(console, reports)
    root = os.environ["SLUICE_ROOT"]
    if "://" not in root:
        summary.show_rows(console, [Path(root) / "published" / name for name in registry.names()])
    sent = ledger.counts(DATA / "ledger")
    deliveries = {number for _, number in reports}
    if not summary.show_verdict(
        console, reports, {n: kinds for n, kinds in sent.items() if n in deliveries}
    ):
        raise typer.Exit(1)


def main() -> None:
    """Run it; a foreseen error is one line and exit status 2."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(demo)
    try:
        app(prog_name="python -m local.stack.demo")
    except (AirflowError, PublishError, ledger.LedgerError, FlightDataError, SluiceError) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
