"""A deployed spec is tightened, and sessions from before are backfilled, as a user does it."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import deltalake
import duckdb
import pytest

from spark_jobs.registry import find as registry
from tests.harness.command import answer, sluice
from tests.harness.long_form import long_form
from tests.harness.oracle import Place
from tests.harness.scene import Scene

NAME, PACKAGE = "busy_carriers", "deployed"
GAP, DELAY = timedelta(minutes=15), timedelta(hours=2)
SPEC = '''
"""When each carrier was busy at each airport."""

from spark_jobs.spec import Aggregate, Deduplicate, Pipeline, Ranges, Session
from spark_jobs.topics.flights import FLIGHTS

REQUIRED = ()
FIELDS = tuple(
    field.model_copy(update={"required": field.required or field.name in REQUIRED})
    for field in FLIGHTS.fields
)
SPEC = Pipeline(
    name="busy_carriers",
    about="When each carrier was busy at each airport.",
    topic=FLIGHTS.model_copy(update={"fields": FIELDS}),
    watermark_delay="2 hours",
    steps=(
        Deduplicate(keys=("event_id",)),
        Aggregate(
            window=Session(gap="15 minutes"),
            keys=("carrier", "origin"),
            measures={"flights": "count(*)", "miles": "sum(distance_miles)"},
            counts="flights",
        ),
    ),
    ranges=Ranges(context="24 hours"),
)
'''
TIGHTENED = SPEC.replace("REQUIRED = ()", 'REQUIRED = ("delay_minutes",)')
"""Cancelled flights have no delay: they are malformed from now on."""
COMMAND = re.compile(r"`sluice (backfill \S+ --from \S+ --to \S+)`")


class Row(NamedTuple):
    """One session."""

    carrier: str
    origin: str
    start: datetime
    end: datetime
    flights: int
    miles: int

    def overlaps(self, other: Row) -> bool:
        return self[:2] == other[:2] and self.start < other.end and other.start < self.end


class Deployed:
    """The pipeline's folder on a machine, and what one does there."""

    def __init__(self, kafka: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.deploy(SPEC)
        patch.syspath_prepend(str(folder))
        patch.setenv("SLUICE_PIPELINES", PACKAGE)
        spec = registry.load(NAME)
        self.scene = Scene(kafka, folder, spec, events=8000, deliveries=2, topic="flights")

    def deploy(self, spec: str) -> None:
        path = self.folder / PACKAGE / NAME / "spec.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        for package in (path.parent, path.parent.parent):
            (package / "__init__.py").touch()
        path.write_text(spec)

    def sluice(self, *words: str) -> subprocess.CompletedProcess[str]:
        return sluice(self.scene, PACKAGE, *words, beside=self.folder)

    def table(self) -> set[Row]:
        rows = deltalake.DeltaTable(str(self.scene.paths.table)).to_pyarrow_table().to_pylist()
        found = [_row(row) for row in rows]
        assert len(found) == len(set(found))
        return set(found)

    def quarantined(self) -> set[Place]:
        rows = [(row["partition"], row["offset"]) for row in self.scene.ops("quarantine")]
        assert len(rows) == len(set(rows)), "a record is there twice"
        return set(rows)

    def cancelled(self) -> dict[Place, datetime]:
        """Place -> event time of the good records that the tightened spec does not decode."""
        return {
            (row["partition"], row["offset"]): row["event_time"].astimezone(UTC)
            for row in self.scene.ledger.to_pylist()
            if row["kind"] in {"good", "duplicate"} and row["delay_minutes"] is None
        }

    def sessions(self, good: str) -> set[Row]:
        """By DuckDB: of each event once for which `good` holds, and that have ended."""
        with duckdb.connect() as db:
            db.sql("SET TimeZone = 'UTC'")
            db.register("ledger", self.scene.ledger)
            rows = (
                db.sql(
                    f"""
                WITH events AS (
                    SELECT DISTINCT ON (event_id) * FROM ledger
                    WHERE kind IN ('good', 'duplicate') AND {good}
                ), begun AS (
                    SELECT *, coalesce(event_time > $gap + lag(event_time) OVER key, true) AS begins
                    FROM events
                    WINDOW key AS (PARTITION BY carrier, origin ORDER BY event_time, event_id)
                ), numbered AS (
                    SELECT *, count_if(begins) OVER (
                        PARTITION BY carrier, origin ORDER BY event_time, event_id
                    ) AS number FROM begun
                )
                SELECT carrier, origin, min(event_time) AS window_start,
                       max(event_time) + $gap AS window_end, count(*) AS flights,
                       sum(distance_miles)::BIGINT AS miles
                FROM numbered GROUP BY carrier, origin, number
                HAVING window_end <= (SELECT max(event_time) FROM ledger
                                      WHERE kind IN ('good', 'duplicate')) - $delay
                """,
                    params={"gap": GAP, "delay": DELAY},
                )
                .to_arrow_table()
                .to_pylist()
            )
        return {_row(row) for row in rows}


def _row(row: dict[str, Any]) -> Row:
    start, end = (row[name].astimezone(UTC) for name in ("window_start", "window_end"))
    return Row(row["carrier"], row["origin"], start, end, row["flights"], row["miles"])


def _parting(loose: set[Row], tight: set[Row]) -> tuple[datetime, datetime]:
    """A range that ends within a row of the table that is two sessions now, between the two."""
    for row in sorted(loose - tight, key=lambda each: each.end, reverse=True):
        now = sorted((each for each in tight if each.overlaps(row)), key=lambda each: each.start)
        if len(now) > 1:
            return row.start - timedelta(hours=6), now[0].end + timedelta(minutes=1)
    raise AssertionError("no session of the scene falls into two")


@long_form
def test_sessions_of_before_a_spec_was_tightened_are_backfilled_whole_or_not_at_all(
    kafka, tmp_path, monkeypatch
):
    it = Deployed(kafka, tmp_path, monkeypatch)
    it.scene.deliver()
    answer(it.sluice("drain", NAME))
    before = it.table()
    assert before == it.sessions("true")

    it.deploy(TIGHTENED)
    tight = it.sessions("delay_minutes IS NOT NULL")
    start, end = _parting(before, tight)
    words = ("backfill", NAME, "--from", f"{start:%FT%TZ}", "--to", f"{end:%FT%TZ}")
    refused = it.sluice(*words, "--execute", "--yes")
    assert "RANGE_UNSUPPORTED" in refused.stderr
    assert it.table() == before, "what is refused changes nothing"

    told = COMMAND.search(refused.stderr.replace("\n", " "))
    assert told, refused.stderr
    whole = told[1].split()
    first, last = (datetime.fromisoformat(whole[at]) for at in (3, 5))
    assert first <= start
    assert end < last
    proof = it.sluice("verify", *whole[1:]).stderr
    assert "(newly_bad)" in proof
    assert " ".join(["sluice", *whole]) in proof, "it names the command that takes them out"
    answer(it.sluice(*whole, "--execute", "--yes"))

    def inside(row: Row) -> bool:
        return first < row.end <= last

    wanted = {row for row in tight if inside(row)} | {row for row in before if not inside(row)}
    assert it.table() == wanted != before
    # The rows are what the records give today, and what is bad now is kept.
    answer(it.sluice("verify", *whole[1:]))
    kept = it.quarantined()
    assert {place for place, at in it.cancelled().items() if first <= at < last} <= kept

    it.scene.deliver()
    assert "unaccounted 0" in answer(it.sluice("drain", NAME))
    answer(it.sluice("repair", NAME, "--execute", "--yes"))
    canonical = it.sessions("delay_minutes IS NOT NULL")
    assert {row for row in it.table() if inside(row)} == {row for row in canonical if inside(row)}
    assert kept <= it.quarantined()

    it.deploy(SPEC)
    answer(it.sluice("replay", NAME, "--execute", "--yes"))
    canonical = it.sessions("true")
    assert {row for row in it.table() if inside(row)} == {row for row in canonical if inside(row)}
    answer(it.sluice("verify", *whole[1:]))
