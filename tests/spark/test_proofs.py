"""Proofs by night over a drained table: what a hand has done to its rows is found, by real
verifies, within the nights that the budget allows.
"""

import json
from datetime import UTC, datetime, timedelta

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from spark_jobs.errors import CheckFailed
from spark_jobs.ops import ops_tables
from spark_jobs.prove.covered import covered
from spark_jobs.prove.night import COLD, RUN_PREFIX, prove, tonight
from spark_jobs.repair.stage import stage
from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish
from spark_jobs.storage.root.path_forms import from_uri
from spark_jobs.table.published.commit import PROVED
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark import operators

HOUR = timedelta(hours=1)
A_NIGHT = 2
"""Hours that a night may prove."""
NIGHTS = 30
"""Those that have drains before them: without any in its week a night proves nothing."""
pytestmark = [pytest.mark.usefixtures("examples"), alike("a proof of days")]


class Nights:
    """The nights over one scene; each is a day later than the one before."""

    def __init__(self, made: Scene) -> None:
        self.made = made
        self.now = datetime.now(UTC)
        self.settings = made.settings._replace(proof="10 %")

    def drains_took(self) -> None:
        """So many each day that a night may prove A_NIGHT hours, each as long as COLD: what the drain
        and a proof of this machine took says nothing of the other.
        """
        [drain] = self.made.ops("runs")
        report = json.loads(drain["report"])
        report["processor_seconds"] = COLD
        rows = [
            drain
            | {"report": json.dumps(report)}
            | {"run_id": f"{n} of day {day}"}
            | {at: drain[at] + timedelta(days=day) for at in ("started_at", "ended_at")}
            for day in range(-6, NIGHTS)
            for n in range(A_NIGHT * 10)
        ]
        ops_tables.append(self.made.paths.root, "runs", rows)

    def night(self):
        return tonight(self.made.spec, self.settings, self.made.paths, self.now)

    def work(self) -> str:
        """What a night finds: the days of the error, or nothing."""
        made = self.made

        def verify(plan, run_id):
            plan.store(made.paths)
            return stage(made.spec, made.settings, run_id, plan.repair_id, kind="verify")

        found, done = self.night(), len(self.proofs())
        try:
            prove(made.spec, self.settings, found, "test", verify, print)
        except CheckFailed as error:
            return str(error.parameters["days"])
        finally:
            *before, last = self.proofs()[done:] or [0.0]
            more = max(last - max(found.budget.cost, *before, 0.0), 0.0)
            assert sum(before) + last <= found.budget.tonight + more
            self.now += timedelta(days=1)
        return ""

    def proofs(self) -> list[float]:
        """The processor seconds of each, by the reports."""
        runs = sorted(self.made.ops("runs"), key=lambda row: row["ended_at"])
        proofs = [row["report"] for row in runs if row["run_id"].startswith(RUN_PREFIX)]
        return [json.loads(report)["processor_seconds"] for report in proofs]

    def proved(self) -> list[datetime]:
        found = covered(self.made.spec, self.made.paths).intervals
        return [each.start for each in found if each.proved_at]


def test_what_a_hand_did_to_a_table_is_found_by_the_next_nights_of_its_proofs(
    kafka, tmp_path, spark
):
    spec = operators.named("busy_runways").spec
    spec = spec.model_copy(update={"ranges": spec.ranges.model_copy(update={"every": "hour"})})
    made = Scene(kafka, tmp_path, spec, events=420, deliveries=1, stores=1, partitions=1)
    made.deliver()
    made.run("drain")
    publish(made.paths, made.spec, Announced())
    nights = Nights(made)
    nights.drains_took()
    days = nights.night().published
    assert days > A_NIGHT
    for _ in range(days):  # how many a night proves is the machine's
        if len(nights.proved()) < days:
            assert nights.work() == ""
    assert len(nights.proved()) == days
    assert all(each > 0 for each in nights.proofs())
    of_spark = f"delta.`{made.paths.published_table}`"
    told = dict(map(tuple, spark.sql(f"SHOW TBLPROPERTIES {of_spark}").collect()))
    [[start, end, _]] = json.loads(told[PROVED])["spans"]
    assert start == f"{nights.proved()[0]:%FT%TZ}"
    assert end == f"{nights.proved()[-1] + HOUR:%FT%TZ}"
    rows = spark.sql(f"SELECT count(*) FROM {of_spark}").collect()
    assert rows == [(len(made.table()),)]

    changed, deleted, swapped, *_ = nights.proved()
    table = deltalake.DeltaTable(str(made.paths.table))
    table.optimize.compact()
    assert len(nights.proved()) == days, "other files, and the same rows"
    table.update({"flights": "flights + 1"}, predicate=at(changed))
    table.delete(at(deleted))
    assert {changed, deleted}.isdisjoint(nights.proved())
    told = nights.work() + nights.work()
    assert all(f"{day:%F %H:%M}" in told for day in (changed, deleted))
    assert len(nights.proved()) == days - 2

    swap_file(made, swapped)
    assert len(nights.proved()) == days - 2, "the log does not tell of it"
    # The week's share may be spent: proofs that are cheap by now were more than so many a night.
    found = (f"{swapped:%F %H:%M}" in nights.work() for _ in range(days + 7))
    assert any(found), "and a night does, within so many as prove all, and a week"


def swap_file(made: Scene, day: datetime) -> None:
    """The same name, another row of that hour in it, and no longer than its entry in the log says."""
    table = deltalake.DeltaTable(str(made.paths.table))
    for path in map(from_uri, table.file_uris()):
        rows = pq.read_table(path)
        of_hour = pc.equal(rows["window_end"], pa.scalar(day + HOUR, rows["window_end"].type))
        if pc.any(of_hour).as_py():
            more = pc.add(rows["flights"], pc.cast(of_hour, rows["flights"].type))
            at = rows.schema.get_field_index("flights")
            other = rows.set_column(at, rows.schema.field(at), more)
            pq.write_table(other, path, compression="zstd", write_statistics=False)


def at(day: datetime) -> str:
    return f"window_end = '{day + HOUR:%FT%TZ}'"
