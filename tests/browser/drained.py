"""An Airflow that runs its tasks, over a table of which late records wait and somebody took a row."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import deltalake

from local import airflow
from local.airflow_api import Api
from spark_jobs.checkpoint.log import Checkpoint
from tests.harness import oracle
from tests.harness.broker import forget_topic
from tests.harness.patience import patient
from tests.harness.roots import ROOT
from tests.harness.scene import Scene

PIPELINE = "departure_delays"
BACKFILL = f"{PIPELINE}__backfill"
EVENTS, DELIVERIES = 12_000, 3
"""Of a week. In the last two deliveries are records that are late."""
DAYS = (datetime(2013, 1, 2, tzinfo=UTC), datetime(2013, 1, 3, tzinfo=UTC))
"""That are computed again: each misses late records, and the second a row, too."""
DAY = timedelta(days=1)
PATIENCE_SECONDS = patient(400)
ENDED = ("success", "failed", "skipped", "upstream_failed")
Row = dict[str, Any]


class Drained(NamedTuple):
    """The Airflow, what was delivered, and what is in the table."""

    airflow: airflow.Airflow
    api: Api
    scene: Scene
    taken: Row
    """The row that somebody took out of the table: no late record touches it."""
    before: list[Row]
    """The table's rows when the drains were done."""

    def wanted(self) -> list[Row]:
        """What DuckDB makes of all good records, none of them late."""
        return canonical(self.scene)

    def await_task(self, run_id: str, task_id: str, state: str) -> None:
        """Until the task of a run of the backfill DAG has this state."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (found := self._tasks(run_id).get(task_id)) != state:
            assert found not in ENDED, (found, self.api.errors(BACKFILL, run_id))
            assert time.monotonic() < deadline, (run_id, task_id, found)
            time.sleep(0.5)

    def _tasks(self, run_id: str) -> dict[str, str | None]:
        """None yet of a run that the scheduler has not begun."""
        return self.api.tasks(BACKFILL, run_id) if run_id in self.runs() else {}

    def runs(self) -> dict[str, str]:
        """The runs of the backfill DAG that have begun, and the state of each."""
        return self.api.runs(BACKFILL, datetime(2026, 1, 1, tzinfo=UTC))


@contextmanager
def drained(kafka: str, folder: Path) -> Iterator[Drained]:
    """Every delivery is drained by Airflow. Before the last, a person takes a row out of the table."""
    home, root = folder / "airflow", folder / ROOT
    scene = Scene(kafka, folder, PIPELINE, events=EVENTS, deliveries=DELIVERIES, topic="flights")
    shown = {"SLUICE_RECORD_BYTES": "shown"}  # the person who approves sees rows
    variables = {"SLUICE_KAFKA": kafka, "SLUICE_ROOT": str(root)} | shown
    try:
        running = airflow.start(home, variables, schedule=False)
        with Api(running) as api:
            api.await_dags({PIPELINE, BACKFILL})
            for number in range(1, DELIVERIES):
                scene.deliver()
                _drain(api, f"delivery-{number}")
            scene.deliver()
            taken = _take_a_row(scene)
            _drain(api, f"delivery-{DELIVERIES}")
            yield Drained(running, api, scene, taken, scene.table())
    finally:
        airflow.stop(home)
        forget_topic(kafka, scene.topic)


def within(row: Row, *days: datetime) -> bool:
    """Whether the row's window lies in one of the days."""
    end = row["window_end"].astimezone(UTC)
    return any(day < end <= day + DAY for day in days)


def canonical(scene: Scene) -> list[Row]:
    """The table's rows if no record were late."""
    checkpoint = Checkpoint(scene.paths.checkpoint)
    watermark = checkpoint.batch(checkpoint.committed()[-1]).watermark
    assert watermark is not None
    return oracle.departure_delays(oracle.events(scene.ledger, set()), watermark)


def _drain(api: Api, run_id: str) -> None:
    api.trigger(PIPELINE, run_id)
    said = list[str]()
    states = api.wait(run_id, [PIPELINE], said.append, seconds=PATIENCE_SECONDS)
    assert states == {PIPELINE: "success"}, "\n".join([*said, *api.errors(PIPELINE, run_id)])


def _take_a_row(scene: Scene) -> Row:
    """One of the second day in which no record is missing, whatever has been delivered."""
    whole = oracle.comparable(canonical(scene))
    row = next(
        each
        for each in scene.table()
        if within(each, DAYS[1]) and oracle.comparable([each])[0] in whole
    )
    table = deltalake.DeltaTable(str(scene.paths.table))
    found = table.delete(
        f"window_end = '{row['window_end'].astimezone(UTC):%FT%TZ}' "
        f"AND carrier = '{row['carrier']}' AND origin = '{row['origin']}'"
    )
    assert found["num_deleted_rows"] == 1
    return row
