"""A folder of files as a source: each record once, whatever becomes of the files."""

import json
import os
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from spark_jobs.admin.rebuild.plan import plan_rebuild
from spark_jobs.admin.reset import reset
from spark_jobs.errors import RecordsUnreachable
from spark_jobs.files.noted import note_of, read_listed
from spark_jobs.repair.find.coverage import coverage
from spark_jobs.runs.plan import plan
from spark_jobs.source.place import Place
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Aggregate, Field, Files, Json, Pipeline, Tumbling
from spark_jobs.storage import failpoint
from spark_jobs.where.tell import Telling
from tests.harness.crash import Images, over
from tests.harness.refused import fails
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_rebuild import Rebuilding
from tests.spark.test_repair import Repairs

pytestmark = alike("a topic that is no broker's")

HOUR = timedelta(hours=1)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FIELDS = (
    Field(name="at", type="timestamp"),
    Field(name="shop", type="string"),
    Field(name="amount", type="bigint"),
)
SALES = Aggregate(
    window=Tumbling(size=HOUR), keys=("shop",),
    measures={"sales": "count(*)", "sum": "sum(amount)"}, counts="sales",
)  # fmt: skip


def spec_of(folder, **given):
    usual = {"event_time": "at", "max_ahead": "3000 days", "fields": FIELDS, "format": Json()}
    topic = Files(path=str(folder), **usual | given)
    return Pipeline(name="sales", about="sales", topic=topic, watermark_delay=HOUR, steps=(SALES,))


def scene_of(folder, root, **given):
    return Scene("no.broker:9", root, spec_of(folder, **given), topic="rows", stores=1)


def put(folder, name, *rows, age=120, end="\n"):
    """A file that changed so many seconds ago."""
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    lines = [row if isinstance(row, str) else line(*row) for row in rows]
    path.write_text("\n".join(lines) + end)
    aged(path, age)
    return path


def aged(path, age):
    os.utime(path, (time.time() - age,) * 2)


def line(hour, shop, amount):
    return json.dumps({"at": (NOON + HOUR * hour).isoformat(), "shop": shop, "amount": amount})


def held(made):
    rows = ((row.pop("window_start"), row) for row in made.table())
    return {((at - NOON) // HOUR, row["shop"], row["sales"], row["sum"]) for at, row in rows}


FIRST = ((0, "a", 1), (0, "b", 2), "{broken", (9, "a", 4))
SECOND = ((10, "a", 5), (2, "a", 7), (10, "b", 6))
THIRD = ((10, "a", 8), (30, "a", 1))
WANTED = {(0, "a", 1, 1), (0, "b", 1, 2), (9, "a", 1, 4), (10, "a", 2, 13), (10, "b", 1, 6)}


def test_files_are_drained_resumed_repaired_verified_and_replayed(tmp_path, monkeypatch, spark):
    (folder := tmp_path / "rows").mkdir()
    made = scene_of(folder, tmp_path)
    put(folder, "1.jsonl", *FIRST)
    put(folder, "young.jsonl", (9, "a", 100), age=1)
    found = plan(made.spec, made.settings)
    assert (found.new_offsets, found.reasons[0][:20]) == (0, "1 new or grown files")
    made.run("first")
    (folder / "young.jsonl").unlink()
    put(folder, "2/2.jsonl", *SECOND, end="")
    put(folder, "3.jsonl", *THIRD)
    images = Images(made, tmp_path / "images")
    with monkeypatch.context() as at:
        at.setattr(failpoint, "at", images.at)
        made.run("second")
    killed = {
        place: root
        for (place, _), root in sorted(images.taken.items(), reverse=True)
        if place in {"files.noted", "planned", "table.committed"}
    }
    assert len(killed) == 3
    for each in (made, *(over(made, root) for root in killed.values())):
        each.run("resumed")
        assert held(each) == WANTED
        assert [row["offset"] for row in each.ops("late")] == [5]
        assert [row["offset"] for row in each.ops("quarantine")] == [2]
    repaired, _ = Repairs(made).done()
    assert (repaired.change.unexplained, held(made)) == (0, WANTED | {(2, "a", 1, 7)})
    proof, _ = Repairs(made).done("verify", NOON, NOON + HOUR * 12)
    assert proof.change.differs == 0 < proof.change.rows_after
    fates = {fate.place.offset: fate for fate in told(made, range(9))}
    assert [fates[n].became for n in (0, 2, 5, 8)] == ["accepted", "malformed", "late", "accepted"]
    assert fates[2].origin == "1.jsonl line 3"
    assert fates[5].origin == "2/2.jsonl line 2"
    assert fates[5].used_by
    days = covered_by(made)
    assert {each.state for each in days.intervals} == {"canonical", "drained", "open"} & {
        each.state for each in days.intervals
    }
    (folder / "2/2.jsonl").unlink()
    with fails(RecordsUnreachable, "files_went", names="2/2.jsonl"):
        Repairs(made).plan("verify", NOON, NOON + HOUR * 12)
    lost = {fate.place.offset: fate for fate in told(made, range(9))}
    assert [lost[n].became for n in (0, 4, 5, 8)] == ["accepted", "accepted", "late", "accepted"]
    assert [lost[n].rows == () for n in (0, 4, 7)] == [False, True, False]
    assert any("no more" in each for each in lost[4].untold)
    made.run("after")


OLD = line(3, "a", 2).replace('"amount"', '"total"')


def test_a_malformed_record_of_a_file_is_merged_by_a_replay_and_batches_end_with_files(
    tmp_path, spark
):
    (folder := tmp_path / "rows").mkdir()
    made = scene_of(folder, tmp_path)
    made.change(max_offsets_per_batch=3)
    put(folder, "1.jsonl", (0, "a", 1), OLD)
    put(folder, "2.jsonl", (1, "a", 1), (1, "b", 1))
    put(folder, "3.jsonl", *((4, f"shop {number}", 1) for number in range(4)))
    put(folder, "4.jsonl", (9, "a", 1))
    report = made.run("first")
    ends = [json.loads(row["offsets_end"])["0"] for row in sorted(made.ops("batches"), key=by_id)]
    assert [*dict.fromkeys(ends)] == [2, 4, 7, 9]
    assert (report.account.read, report.account.malformed) == (9, 1)
    amount = FIELDS[2].model_copy(update={"path": ("amount", "total")})
    fields = (*FIELDS[:2], amount)
    made.change(topic=made.spec.topic.model_copy(update={"fields": fields}))
    before = held(made)
    replayed, _ = Repairs(made).done("replay")
    assert (replayed.change.merged, held(made) - before) == (1, {(3, "a", 1, 2)})


def test_a_rebuild_reads_what_the_live_version_has_noted_and_a_reset_the_files_as_they_are(
    tmp_path, spark
):
    (folder := tmp_path / "rows").mkdir()
    made = scene_of(folder, tmp_path)
    put(folder, "2.jsonl", (0, "a", 1), (0, "b", 2))
    made.run("first")
    beside = Rebuilding(made)
    beside.begin()
    put(folder, "1.jsonl", (9, "a", 4), (10, "a", 5))
    beside.compute("next")
    assert read_listed(note_of(beside.paths)) == read_listed(note_of(made.paths))
    made.run("second")
    report = beside.compute("next again")
    assert (report.offsets_end, report.account.read) == ({"0": 4}, 2)
    listed = read_listed(note_of(made.paths))
    assert [each.name for each in listed.files] == ["2.jsonl", "1.jsonl"]
    assert read_listed(note_of(beside.paths)) == listed
    assert plan_rebuild(made.spec, beside.next, made.settings).left == 0
    put(folder, "3.jsonl", (30, "a", 1))
    made.run("third")
    before = held(made)
    (folder / "1.jsonl").rename(folder / "4.jsonl")  # another list has no names of before
    reset(made.spec, made.settings).execute()
    again = made.run("anew")
    assert (again.account.read, held(made)) == (5, before)
    assert [each.name for each in read_listed(note_of(made.paths)).files] == [
        "2.jsonl",
        "3.jsonl",
        "4.jsonl",
    ]


def by_id(row):
    return row["batch_id"]


def told(made, offsets):
    telling = Telling(made.spec, made.settings, ask=None)
    return telling.fates([Place(0, offset) for offset in offsets])


def covered_by(made):
    source = source_of(made.spec, made.settings)
    return coverage(made.spec, made.paths, source.state().earliest)


def many(*rows):
    """A line with a list of records."""
    return (
        f'{{"Records": [{", ".join(row if isinstance(row, str) else line(*row) for row in rows)}]}}'
    )


def test_records_of_one_line_are_late_bad_repaired_and_replayed_alone(tmp_path, monkeypatch, spark):
    (folder := tmp_path / "rows").mkdir()
    made = scene_of(folder, tmp_path, each="Records[]")
    put(folder, "1.json", many((0, "a", 1), (0, "b", 2)), many((9, "a", 4)), many())
    made.run("first")
    put(folder, "2.json", many((10, "a", 5), (2, "a", 7), OLD, (10, "b", 6)), many((30, "a", 1)))
    with monkeypatch.context() as cut:
        cut.setitem(failpoint.ACTIVE, "table.committed", "raise")
        with suppress(failpoint.Failure):
            made.drain("killed")
    made.run("resumed")
    assert held(made) == WANTED - {(10, "a", 2, 13)} | {(10, "a", 1, 5)}
    assert [(row["offset"], row["element"]) for row in made.ops("late")] == [(3, 1)]
    [bad] = made.ops("quarantine")
    assert (bad["offset"], bad["element"], bad["value"][:11]) == (3, 2, b'{"Records":')
    [last] = (row for row in made.ops("batches") if row["read"] == 2)
    assert (last["read"], last["elements"], last["unaccounted"]) == (2, 5, 0)
    fields = (*FIELDS[:2], FIELDS[2].model_copy(update={"path": ("amount", "total")}))
    made.change(topic=made.spec.topic.model_copy(update={"fields": fields}))
    for kind in ("repair", "replay"):
        Repairs(made).done(kind)
    assert held(made) >= {(2, "a", 1, 7), (3, "a", 1, 2)}
    proof, _ = Repairs(made).done("verify", NOON, NOON + HOUR * 12)
    assert proof.change.differs == 0 < proof.change.rows_after
