"""The kind rebuild of Airflow's form, over a real Airflow, Kafka and Spark, held against DuckDB."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import deltalake
import duckdb
import pytest

from local.airflow_api import POLL_SECONDS, Api
from spark_jobs.checkpoint.notes.rebuild_note import read_begun
from tests.e2e import changed
from tests.e2e.changed.miles_flown.spec import SPEC
from tests.harness.airflow_server import served
from tests.harness.long_form import long_form
from tests.harness.patience import patient
from tests.harness.scene import Scene

NAME, BACKFILL = SPEC.name, f"{SPEC.name}__backfill"
PATIENCE_SECONDS = patient(600)
EVENTS = 1500
Rows = list[tuple[Any, ...]]


class Person(Api):
    """Whoever looks at Airflow's page, and answers."""

    def asked(self, run_id: str) -> str:
        """The question of a run of the backfill DAG, once it is put."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.tasks(BACKFILL, run_id).get("approve") != "awaiting_input":
            assert time.monotonic() < deadline, self.tasks(BACKFILL, run_id)
            assert "failed" not in self.tasks(BACKFILL, run_id).values(), self.errors(
                BACKFILL, run_id
            )
            time.sleep(POLL_SECONDS)
        return str(self._answer("GET", self._question(run_id))["body"])

    def answer(self, run_id: str, option: str) -> None:
        self._answer("PATCH", self._question(run_id), {"chosen_options": [option]})

    def done(self, dag_id: str, run_id: str) -> None:
        """Wait until a run has ended well."""
        lines = list[str]()
        states = self.wait(run_id, [dag_id], lines.append, seconds=PATIENCE_SECONDS)
        assert states == {dag_id: "success"}, "\n".join([*lines, *self.errors(dag_id, run_id)])

    def _question(self, run_id: str) -> str:
        return f"/api/v2/dags/{BACKFILL}/dagRuns/{run_id}/taskInstances/approve/-1/hitlDetails"


class Installed(NamedTuple):
    person: Person
    scene: Scene

    def rows(self, folder: str = "tables", name: str = NAME) -> Rows:
        table = deltalake.DeltaTable(str(Path(self.scene.settings.root) / folder / name))
        rows = table.to_pyarrow_table().to_pylist()
        return sorted((r["window_start"], r["origin"], r["flights"], r["miles"]) for r in rows)

    def expected(self, measure: str) -> Rows:
        """By DuckDB over all that was sent: hours that end two hours before the newest event."""
        with duckdb.connect() as db:
            db.sql("SET TimeZone = 'UTC'")
            db.register("ledger", self.scene.ledger)
            return db.sql(
                f"""
                WITH good AS (SELECT * FROM ledger WHERE kind IN ('good', 'duplicate'))
                SELECT time_bucket(INTERVAL 1 HOUR, event_time) AS hour, origin, count(*),
                       {measure}(distance_miles)::BIGINT
                FROM good GROUP BY hour, origin
                HAVING hour + INTERVAL 1 HOUR
                    <= (SELECT max(event_time) FROM good) - INTERVAL 2 HOUR
                ORDER BY 1, 2
                """
            ).fetchall()


@pytest.fixture
def installed(kafka, tmp_path) -> Iterator[Installed]:
    home = tmp_path / "airflow"
    scene = Scene(kafka, tmp_path, SPEC, events=EVENTS, deliveries=3, topic="flights")
    variables = {
        "SLUICE_KAFKA": kafka,
        "SLUICE_ROOT": scene.settings.root,
        "SLUICE_PIPELINES": changed.__name__,
    }
    with served(home, variables) as running, Person(running) as person:
        person.await_dags({NAME, BACKFILL})
        yield Installed(person, scene)


@long_form
def test_a_rebuild_by_the_form_runs_beside_drains_asks_switches_and_is_published(installed):
    person, scene = installed.person, installed.scene
    scene.deliver()
    person.trigger(NAME, "first")
    person.done(NAME, "first")
    sums = installed.rows()
    assert sums == installed.expected("sum"), "of one batch, in which nothing is late"
    shown = deltalake.DeltaTable(str(scene.paths.published_table)).version()

    person.trigger(BACKFILL, "rebuild", kind="rebuild", note="farthest instead of sum")
    body = person.asked("rebuild")
    farthest = installed.expected("max")
    changes = Counter(a[:2] == b[:2] and a != b for a, b in zip(sums, farthest, strict=True))
    assert f"{len(sums):,} rows -> {len(farthest):,}, {changes[True]:,} changed, 0 added" in body
    assert installed.rows() == sums, "nothing is switched before the answer"

    scene.deliver()
    person.trigger(NAME, "meanwhile")  # the live pipeline drains on, and the switch catches up
    person.done(NAME, "meanwhile")
    person.answer("rebuild", "Approve")
    person.done(BACKFILL, "rebuild")
    states = person.tasks(BACKFILL, "rebuild")
    assert set(states.values()) == {"success"}, states
    assert read_begun(scene.paths) is None
    assert installed.rows(name=f"{NAME}.v2") == installed.rows("published")
    assert deltalake.DeltaTable(str(scene.paths.published_table)).version() > shown
    runs = [row for row in scene.ops("runs") if row["kind"] == "rebuild"]
    assert runs
    assert all(row["problem"] is None for row in runs)

    scene.deliver()
    person.trigger(NAME, "third")
    person.done(NAME, "third")
    person.trigger(BACKFILL, "late", kind="repair")
    person.done(BACKFILL, "late")
    assert installed.rows("published") == installed.expected("max"), "and late records are merged"
    assert sum(row["unaccounted"] for row in scene.ops("batches")) == 0
