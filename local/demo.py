"""`python -m local.demo`: the main job on real flights, through a real Kafka and a real Airflow, in
a few minutes.
"""

import shutil
import signal
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from local import airflow, broker, ledger, summary
from local.airflow_api import Api
from local.airflow_settings import of_tasks
from local.deliveries import Delivered, deliver, split
from local.flights import flight_events
from local.nycflights import FIRST_DAY, FlightDataError
from local.ports import NoFreePort
from local.properties import AN_HOUR_AHEAD
from local.publish import PublishError, publish
from spark_jobs.errors import SluiceError
from spark_jobs.messages.report import Report, read_report
from spark_jobs.registry import find as registry
from spark_jobs.storage.root.paths import local_report_path

REPO = Path(__file__).resolve().parents[1]
HOME = REPO / ".local" / "demo"
TOPIC = "flights"
PARTITIONS = 4
REPAIRED = "departure_delays"
BACKFILL = f"{REPAIRED}__backfill"
PROVED = {"from": "2013-01-01", "to": "2013-01-31"}
"""A range that is final after the first month: the demo's shortest form."""
WIDTH = 150
"""Of the tables, where no terminal says how wide it is."""

console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=WIDTH)


class Clock:
    """Says lines with the seconds since it was made."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, line: str) -> None:
        console.print(
            f"[dim]{time.monotonic() - self._began:6.1f}[/] {escape(line)}", soft_wrap=True
        )


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
    keep: Annotated[bool, typer.Option("--keep", help="Leave Kafka and Airflow running.")] = False,
) -> None:
    """Run every pipeline over a few deliveries of real flights, and hold what they did against the
    ledger of what was sent.

    Example: python -m local.demo --months 1 --deliveries 2
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    clock = Clock()
    try:
        _clean()
        reports, repairs = _run(clock, months, deliveries, seed)
        _show(reports, repairs)
    except BaseException:
        keep = False
        raise
    finally:
        if not keep:
            clock.say("stopping Airflow and Kafka")
            _stop()


def _run(
    clock: Clock, months: int, deliveries: int, seed: int
) -> tuple[summary.Reports, list[Report]]:
    clock.say("starting Kafka, and making Airflow's database")
    with ThreadPoolExecutor() as pool:
        making = pool.submit(airflow.prepare, HOME / "airflow")
        brokers = broker.start(HOME / "kafka", REPO / "jars" / "kafka", ahead_ms=AN_HOUR_AHEAD)
        making.result()
        clock.say(
            f"Kafka is at {brokers}; starting Airflow, and playing {months} months of flights "
            "meanwhile"
        )
        ours = of_tasks(brokers, HOME / "root")
        starting = pool.submit(airflow.start, HOME / "airflow", ours, schedule=False)
        parts = split(deliver(flight_events(FIRST_DAY, months), seed=seed), deliveries)
        running = starting.result()
    clock.say(f"Airflow is at {running.url}")
    reports: dict[tuple[str, int], Report] = {}
    with Api(running) as api:
        api.await_dags(set(registry.names()))
        for number, part in enumerate(parts, 1):
            _publish(clock, brokers, number, part)
            reports |= _drain(clock, api, number)
        clock.say(f"late records: {BACKFILL} merges them, and proves that the table is whole")
        repairs = [_repair(clock, api, "repair"), _repair(clock, api, "verify", **PROVED)]
    return reports, repairs


def _publish(clock: Clock, brokers: str, number: int, part: Sequence[Delivered]) -> None:
    counts = publish(brokers, TOPIC, part, number, HOME / "ledger", PARTITIONS)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    clock.say(f"delivery {number}: {len(part):,} records published ({kinds})")


def _drain(clock: Clock, api: Api, number: int) -> dict[tuple[str, int], Report]:
    """Let Airflow run every DAG over what has been published."""
    run_id = f"delivery-{number}"
    for name in registry.names():
        api.trigger(name, run_id)
    states = api.wait(run_id, registry.names(), clock.say)
    failed = [name for name, state in states.items() if state != "success"]
    if failed:
        for line in (line for name in failed for line in api.errors(name, run_id)):
            clock.say(line)
        message = (
            f"{', '.join(failed)} failed in {run_id}; the task logs are under "
            f"{HOME / 'airflow' / 'logs'}"
        )
        raise airflow.AirflowError(message)
    return {(name, number): read_report(_newest(name, run_id)) for name in registry.names()}


def _repair(clock: Clock, api: Api, kind: str, **params: str) -> Report:
    """Let Airflow compute ranges of one table again."""
    api.trigger(BACKFILL, kind, kind=kind, **params)
    if api.wait(kind, [BACKFILL], clock.say)[BACKFILL] != "success":
        for line in api.errors(BACKFILL, kind):
            clock.say(line)
        message = f"{BACKFILL} failed in {kind}"
        raise airflow.AirflowError(message)
    return read_report(_newest(REPAIRED, f"{kind}-repair"))


def _newest(pipeline: str, run_id: str) -> Path:
    folder = local_report_path(str(HOME / "root"), pipeline, run_id).parent
    return max(
        folder.glob(f"{run_id}-try*.json"),
        key=lambda path: path.stat().st_mtime,
        default=folder / run_id,
    )


def _show(reports: summary.Reports, repairs: Sequence[Report]) -> None:
    console.print()
    summary.show_runs(console, reports)
    summary.show_checks(console, reports)
    summary.show_repairs(console, repairs)
    summary.show_rows(console, [HOME / "root" / "published" / name for name in registry.names()])
    agrees = summary.show_verdict(console, reports, ledger.counts(HOME / "ledger"))
    if not summary.show_proof(console, repairs, PROVED["from"], PROVED["to"]) or not agrees:
        raise typer.Exit(1)
    console.print(NEXT.format(root=HOME / "root"), highlight=False)


NEXT = """
Try next:
  export SLUICE_ROOT={root}
  .venv/bin/sluice show late departure_delays   records behind the watermark
  .venv/bin/sluice show repairs                            what was computed again
  .venv/bin/sluice show quarantine                         what could not be decoded, and why
  .venv/bin/sluice show batches                            the account of every micro-batch
  make up                                                  Kafka and Airflow's UI, until make down
"""


def _clean() -> None:
    """Away with an earlier demo: what it left running, then its data."""
    if HOME.exists():
        _stop()
        shutil.rmtree(HOME)


def _stop() -> None:
    airflow.stop(HOME / "airflow")
    broker.stop(HOME / "kafka")


def main() -> None:
    """Run it; a foreseen error is one line and exit status 2."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(demo)
    try:
        app(prog_name="python -m local.demo")
    except (
        airflow.AirflowError,
        broker.BrokerError,
        NoFreePort,
        PublishError,
        ledger.LedgerError,
        FlightDataError,
        SluiceError,
    ) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
