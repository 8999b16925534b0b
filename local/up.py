"""`python -m local.up`: Kafka and Airflow's UI on this machine, to work with."""

import sys
from pathlib import Path

import typer

from local import airflow, broker
from local.airflow_settings import of_tasks
from local.ports import NoFreePort
from local.properties import AN_HOUR_AHEAD
from spark_jobs.registry import find as registry

REPO = Path(__file__).resolve().parents[1]
HOME = REPO / ".local"
PARTITIONS = 4

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@app.command()
def up() -> None:
    """Start Kafka and Airflow unless they run, make the pipelines' topics, and say how to get in.

    Example: python -m local.up up
    """
    typer.echo("starting Kafka and Airflow, some 20 seconds ...")
    brokers = broker.start(HOME / "kafka", REPO / "jars" / "kafka", ahead_ms=AN_HOUR_AHEAD)
    for topic in registry.topics():
        broker.create_topic(brokers, topic, PARTITIONS)
    _say(brokers, airflow.start(HOME / "airflow", of_tasks(brokers, HOME / "root"), schedule=True))


@app.command()
def down() -> None:
    """Stop both; their data stays.

    Example: python -m local.up down
    """
    for name, was in (
        ("Airflow", airflow.stop(HOME / "airflow")),
        ("Kafka", broker.stop(HOME / "kafka")),
    ):
        typer.echo(f"{name} {'stopped' if was else 'was not running'}")


@app.command()
def status() -> None:
    """Say where they are; exit with status 1 unless both run.

    Example: python -m local.up status
    """
    brokers = broker.running(HOME / "kafka")
    running = airflow.running(HOME / "airflow")
    if brokers and running:
        _say(brokers, running)
        return
    typer.echo(
        f"Kafka {'runs' if brokers else 'does not run'}, Airflow "
        f"{'runs' if running else 'does not run'}"
    )
    raise typer.Exit(1)


def _say(brokers: str, running: airflow.Airflow) -> None:
    typer.echo(
        "\n".join(
            (
                f"Airflow  {running.url}   user {running.user}, password {running.password}",
                f"Sluice   {running.url}/plugin/sluice   all pipelines, behind the same login",
                f"Kafka    {brokers}",
                "",
                f"  export SLUICE_KAFKA={brokers}",
                "  .venv/bin/python -m local publish --months 2 --deliveries 3 --delivery 1",
                "",
                "Each DAG runs by its schedule; trigger it in the UI to see it at once. `make "
                "down` stops both.",
            )
        )
    )


def main() -> None:
    """Run the command line; a foreseen error is one line and exit status 2."""
    try:
        app(prog_name="python -m local.up")
    except (airflow.AirflowError, broker.BrokerError, NoFreePort) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
