"""Proofs by night as a user has them, over a root that real drains have filled."""

import json

import deltalake
import pytest

from spark_jobs.ops import ops_tables
from spark_jobs.prove.covered import DAY
from spark_jobs.prove.night import RUN_PREFIX, WEEK
from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish
from spark_jobs.table.published.commit import PROVED
from tests.e2e import pipelines
from tests.e2e.pipelines.flight_events.spec import SPEC
from tests.harness.command import answer, sluice, undone
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_repair import Repairs

PIPELINE = SPEC.name
SHARE = {"SLUICE_PROOF": "100%"}
pytestmark = [
    pytest.mark.filterwarnings("default"),  # Great Expectations warns while it loads
    alike("a proof of days"),
]


def took_before(made: Scene) -> None:
    """A proof before this week, by which the drain's processor seconds are enough for one."""
    [drain] = [row for row in made.ops("runs") if row["kind"] == "drain"]
    report = json.loads(drain["report"])
    report["processor_seconds"] *= 0.6
    times = {each: drain[each] - WEEK - DAY for each in ("started_at", "ended_at")}
    before = drain | times | {"run_id": f"{RUN_PREFIX}before", "kind": "verify"}
    ops_tables.append(made.paths.root, "runs", [before | {"report": json.dumps(report)}])


def test_a_night_proves_a_day_and_tells_its_readers_until_a_hand_changes_its_rows(
    spark, kafka, tmp_path
):
    made = Scene(kafka, tmp_path, SPEC, events=3000, deliveries=1, topic="flights")
    made.deliver()
    made.run()
    Repairs(made).done()
    publish(made.paths, made.spec, Announced())
    took_before(made)

    def command(*words: str):
        return sluice(made, pipelines.__name__, *words, **SHARE)

    planned = undone(command("prove", PIPELINE))
    [day] = [line.split()[1] for line in planned.splitlines() if line.startswith("  verify")]
    proved = answer(command("prove", PIPELINE, "--execute"))
    assert f"{day} 00:00 to" in proved
    assert proved.splitlines()[-1].endswith("is proved")

    covered = [
        json.loads(line)
        for line in answer(command("coverage", PIPELINE, "--format", "json")).splitlines()
    ]
    [found] = [each for each in covered if each["proved"]]
    assert found["from"].startswith(day)
    published = deltalake.DeltaTable(str(made.paths.published_table))
    [[start, _, on]] = json.loads(published.metadata().configuration[PROVED])["spans"]
    assert (start, found["proved"][:10]) == (found["from"], on)

    table = deltalake.DeltaTable(str(made.paths.table))
    table.delete(f"event_time >= '{found['from']}' AND event_time < '{found['to']}'")
    planned = answer(command("prove", PIPELINE))
    assert " published days, 0 proved, 0 wrong" in planned.splitlines()[0]
    assert "  no day tonight" in planned, "the week's share is spent"
