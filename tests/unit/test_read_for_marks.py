"""What a repair of outdated rows reads: the records of the days that have a changed key."""

import json
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest

from spark_jobs.errors import SideGone
from spark_jobs.messages.request import Request
from spark_jobs.repair.planner import plan_repair
from spark_jobs.source import sources
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.table.delta.log_entries import GENERATION
from tests.harness.refused import fails
from tests.simulation.topic import Topic
from tests.unit.checkpoints import commit_batch, plan_batch
from tests.unit.marked import DAY, Marked

YEAR = 365
A_DAY = 10_000
"""Records."""
HAVE = (3, 40, 41, 99, 180, 181, 182, 250, 300, 364)
"""The days that have a row of the shops that change."""


class Long(Topic):
    """With a year of records."""

    def state(self) -> SourceState:
        return SourceState("topic-1", Positions({0: 0}), Positions({0: YEAR * A_DAY}))


@pytest.fixture
def root(tmp_path) -> Marked:
    made = Marked(tmp_path, until=YEAR)
    made.table.alter.set_table_properties({GENERATION: "g1"}, raise_if_not_exists=False)
    made.begin()
    end, clock = {0: YEAR * A_DAY}, int(made.until.timestamp() * 1000)
    plan_batch(made.paths.checkpoint, 0, end, clock, "sales")
    commit_batch(made.paths.checkpoint, 0)
    own = {"pipeline": made.spec.name, "generation": "g1", "batch_id": 0, "run_id": "r"}
    made.put(
        "slices",
        *(
            own
            | {"partition": 0, "first_offset": n * A_DAY, "last_offset": n * A_DAY + A_DAY - 1}
            | {"records": A_DAY, "late": 0, "first_event_time": at, "last_event_time": at}
            for n in range(YEAR)
            for at in (DAY + timedelta(days=n, hours=11, minutes=30),)
        ),
    )
    counts = {"read": YEAR * A_DAY, "covered": YEAR * A_DAY, "audited_at": datetime.now(UTC)}
    made.put("batches", own | counts | {"offsets_start": "{}", "offsets_end": json.dumps(end)})
    made.moved(audited=0)
    for number in range(100):
        made.sells(f"shop {number}", HAVE[number % len(HAVE)])
    made.sells("other", *range(YEAR))
    return made


def test_a_correction_of_a_hundred_keys_in_a_year_reads_the_days_that_have_them(root):
    root.has("1", 0, 1, *(f"shop {number}" for number in range(100)))
    root.begin()
    root.has("1", 0, 2, "other")  # no run has compared it, so no repair reads it
    with patch.object(sources, "kafka", lambda *_: Long()):
        plan = plan_repair(root.spec, root.settings, Request(who="ana"))
    assert sum((span.end - span.start).days for span in plan.spans) == len(HAVE)
    assert plan.offsets == plan.records == len(HAVE) * A_DAY
    assert plan.inputs["shops"].version == 1
    assert any("100 changes" in line for line in plan.lines)


def test_a_version_that_is_gone_or_that_no_run_has_noted_is_refused_until_a_run_notes_the_newest(
    root,
):
    root.has("1", 2, 2)
    with patch.object(sources, "kafka", lambda *_: Long()):
        with fails(SideGone, "of_repair", side="shops", version=0):
            plan_repair(root.spec, root.settings, Request(who="ana"))
        (root.paths.checkpoint / "inputs" / "0").unlink()
        with fails(SideGone, "no_run", side="shops"):
            plan_repair(root.spec, root.settings, Request(who="ana"))
        root.begin()
        assert plan_repair(root.spec, root.settings, Request(who="ana")).idle
