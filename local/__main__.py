"""`python -m local`: a Kafka broker on this machine, and flights to send to it."""

import sys
from datetime import datetime, time
from pathlib import Path
from typing import Annotated

import typer

from local import broker as kafka, ledger
from local.deliveries import deliver, split
from local.flights import flight_events
from local.nycflights import FIRST_DAY, FlightDataError
from local.ports import NoFreePort
from local.publish import PublishError, publish

ROOT = Path(__file__).resolve().parents[1]
START = datetime.combine(FIRST_DAY, time.min)
JARS = ROOT / "jars" / "kafka"

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, rich_markup_mode=None)
broker = typer.Typer(help="The Kafka broker: one JVM on loopback.", no_args_is_help=True)
app.add_typer(broker, name="broker")

Home = Annotated[
    Path, typer.Option(help="Folder of the broker (in kafka) and the ledger (in ledger/<topic>).")
]


@broker.command("start")
def start(home: Home = ROOT / ".local") -> None:
    """Start the broker unless it runs, and print its bootstrap servers.

    Example: python -m local broker start
    """
    typer.echo(kafka.start(home / "kafka", JARS))


@broker.command("stop")
def stop(home: Home = ROOT / ".local") -> None:
    """Stop the broker; its data stays.

    Example: python -m local broker stop
    """
    typer.echo("stopped" if kafka.stop(home / "kafka") else "was not running")


@broker.command("status")
def status(home: Home = ROOT / ".local") -> None:
    """Print the bootstrap servers if the broker runs; exit with status 1 if it does not.

    Example: python -m local broker status
    """
    bootstrap = kafka.running(home / "kafka")
    typer.echo(bootstrap or "not running")
    raise typer.Exit(0 if bootstrap else 1)


@app.command("publish")
def send(
    topic: Annotated[str, typer.Option(help="Topic, made if need be.")] = "flights",
    start: Annotated[datetime, typer.Option(formats=["%Y-%m-%d"], help="First day.")] = START,
    months: Annotated[int, typer.Option(min=1, help="Months of flights.")] = 1,
    deliveries: Annotated[
        int, typer.Option(min=1, help="Parts in which these flights are sent.")
    ] = 1,
    delivery: Annotated[int, typer.Option(min=1, help="The part to send now.")] = 1,
    seed: Annotated[
        int, typer.Option(help="Decides duplicates, delays and malformed records.")
    ] = 7,
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of a new topic.")] = 4,
    home: Home = ROOT / ".local",
) -> None:
    """Send one delivery of flights to the running broker, with a real producer's faults, and write
    it in the ledger.

    Example: python -m local publish --start 2013-01-01 --months 2 --deliveries 3 --delivery 1
    """
    if delivery > deliveries:
        message = f"delivery {delivery} of {deliveries} does not exist"
        raise typer.BadParameter(message, param_hint="--delivery")
    bootstrap = kafka.running(home / "kafka")
    if bootstrap is None:
        message = "the broker is not running; start it with `python -m local broker start`"
        raise kafka.BrokerError(message)
    records = split(deliver(flight_events(start.date(), months), seed=seed), deliveries)[
        delivery - 1
    ]
    counts = publish(bootstrap, topic, records, delivery, home / "ledger" / topic, partitions)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    typer.echo(
        f"delivery {delivery} of {deliveries} to {topic}: {len(records):,} records ({kinds})"
    )


def main() -> None:
    """Run the command line; a foreseen error is one line and exit status 2."""
    try:
        app(prog_name="python -m local")
    except (
        kafka.BrokerError,
        NoFreePort,
        PublishError,
        ledger.LedgerError,
        FlightDataError,
    ) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
