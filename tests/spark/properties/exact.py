"""What must hold after every run: account, what was kept aside, table and canonical result."""

import json
from collections import Counter
from datetime import datetime

from spark_jobs.spec import Pipeline
from tests.harness.compare import assert_same
from tests.harness.moments import at
from tests.spark.properties.case import Case
from tests.spark.properties.events import Event
from tests.spark.properties.forms import Form
from tests.spark.properties.replay import Played, Seen, everything, newest_watermark_us, play
from tests.spark.properties.scene import Row, Scene


def assert_exact(scene: Scene, case: Case, form: Form, upto: int) -> list[Seen]:
    """After a run that found the first `upto` records of the case. Gives what was late."""
    seen, watermark_us = assert_accounted(scene, case, form, upto)
    late = assert_late(scene, case, seen)
    table = scene.table()
    assert_same(table, form.rows(seen, watermark_us), "the table")
    scene.listener.publish(scene.paths, scene.spec)
    assert_same(scene.published(), table, "what consumers see of it")
    _assert_put_back(form, table, seen, late, watermark_us)
    if upto == len(case.records):
        back = [
            *(one for one in seen if one.missed_us is None),
            *(one._replace(missed_us=None) for one in late),
        ]
        canonical = form.rows(everything(case, form.enters), watermark_us)
        assert_same(
            form.rows(back, watermark_us),
            canonical,
            "all that was accepted, with what ops.late has",
        )
        if not late:
            assert_same(table, canonical, "the table where nothing was late")
    return late


def assert_accounted(scene: Scene, case: Case, form: Form, upto: int) -> tuple[list[Seen], int]:
    """Account, quarantine and watermark (us) after a run, and what the first step saw."""
    batches = scene.ops("batches")
    assert [row["batch_id"] for row in batches] == list(range(len(batches)))
    sent = Counter(record.partition for record in case.records[:upto])
    ends = scene.ends()
    assert ends[-1] == {partition: sent[partition] for partition in range(case.partitions)}, (
        "not all was read"
    )
    played = play(case, ends, form.enters, form.late)
    _assert_account(scene.spec, form, batches, played)
    watermark_us = played[-1].watermark_us
    if scene.spec.watermark_delay is not None and scene.spec.output_mode != "complete":
        assert watermark_us == newest_watermark_us(case, form.enters, ends[-1]), (
            "what was due was left to the next run"
        )
    _assert_quarantine(scene, case, upto)
    return [one for batch in played for one in batch.seen], watermark_us


def _assert_account(spec: Pipeline, form: Form, batches: list[Row], played: list[Played]) -> None:
    known: list[Seen] = []
    for row, batch in zip(batches, played, strict=True):
        where = f"batch {row['batch_id']}"
        unknown = row["source"] == "reread" and spec.steps[-1].kind != "deduplicate"
        assert row["unaccounted"] == (None if unknown else 0), where
        assert {name: row[name] for name in batch.counts} == batch.counts, where
        watched = batch.watermark_us if spec.watermark_delay is not None else 0
        assert row["watermark"] == (at(watched) if watched else None), where
        before = form.duplicates(known)
        known = [*known, *batch.seen]
        duplicates = form.duplicates(known) - before
        if spec.steps[-1].kind == "deduplicate" and row["duplicates"] is not None:
            assert row["accepted"] == row["duplicates"] + row["rows_out"], where
        if row["source"] == "progress" or row["duplicates"] is not None:
            assert row["duplicates"] == duplicates, where


def _assert_quarantine(scene: Scene, case: Case, upto: int) -> None:
    kept = {
        (row["partition"], row["offset"]): (row["kind"], row["value"])
        for row in scene.ops("quarantine")
    }
    placed = list(zip(case.places, case.records, strict=True))[:upto]
    assert kept == {place: (r.kind, r.value) for place, r in placed if r.kind != "good"}
    assert len(scene.ops("quarantine")) == len(kept)


def assert_late(scene: Scene, case: Case, seen: list[Seen]) -> list[Seen]:
    """Exactly the replay's late records, each once, with what it missed and its bytes."""
    values = dict(zip(case.places, (record.value for record in case.records), strict=True))
    rows = scene.ops("late")
    found = {
        (row["partition"], row["offset"]): (row["watermark_missed"], row["value"]) for row in rows
    }
    late = {one.place: one for one in seen if one.missed_us is not None}
    assert found == {place: (at(one.missed_us or 0), values[place]) for place, one in late.items()}
    assert len(rows) == len(found)
    return [
        Seen(place, _decoded(found[place][1]), late[place].missed_us) for place in sorted(found)
    ]


def _decoded(value: bytes) -> Event:
    said = json.loads(value)
    return Event(
        said["event_id"], datetime.fromisoformat(said["event_time"]), said["key"], said["value"]
    )


def _assert_put_back(form, table, seen, late, watermark_us) -> None:
    accepted = [one for one in seen if one.missed_us is None]
    whole = form.put_back(table, accepted, late, watermark_us)
    if late and whole is not None:
        wanted = form.rows([one._replace(missed_us=None) for one in seen], watermark_us)
        assert_same(whole, wanted, "the table with what was late")
