"""Which versions of a table `sluice maintain` keeps, since others read it beside their streams."""

from datetime import UTC, datetime, timedelta

import deltalake
import pytest

from spark_jobs.admin.care import needed
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.notes.noted_versions import Pins, still_read
from spark_jobs.storage.pin import Pin
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.published.table import move
from tests.unit.checkpoints import begin
from tests.unit.drains import Drains
from tests.unit.specs import pipeline

READER = pipeline(name="orders")
LATER = timedelta(days=30)


@pytest.fixture
def root(tmp_path) -> Drains:
    """A table with a version a batch, and a pipeline that reads it."""
    made = Drains(tmp_path / "root")
    made.drain(0, 5)
    reader = Paths(made.settings.root, READER)
    begin(reader.checkpoint)
    (reader.checkpoint / "inputs").mkdir()
    Identity(generation="g9", topic_id="t", fingerprint={}).write(reader.identity)
    return made


def noted(root: Drains, audited: int, **pins: Pin) -> None:
    """The reader has accounts up to this batch, and these notes: `b0` is that of batch 0."""
    reader = Paths(root.settings.root, READER)
    Cursor(audited=audited).write(reader.cursor)
    for batch, pin in pins.items():
        Pins(inputs={"sales": pin}).write(reader.checkpoint / "inputs" / batch.removeprefix("b"))


def kept(root: Drains) -> set[int]:
    return {*needed(root.paths, datetime.now(UTC) + LATER).versions}


def test_versions_stay_that_batches_without_an_account_or_later_ones_read(root):
    table_id = str(root.table.metadata().id)
    before = kept(root)
    of = {f"b{batch}": Pin(table_id=table_id, version=batch + 1) for batch in (0, 2, 3)}
    noted(root, -1, **of)
    assert kept(root) - before == {1, 3, 4}
    noted(root, 1, **of)
    assert kept(root) - before == {3, 4}
    noted(root, 7, **of)
    assert kept(root) - before == {4}, (
        "a repair reads it, and the next batch unless there is a newer"
    )


def test_of_the_published_table_that_version_stays_which_it_shows(root):
    for version in (2, 4):
        move(root.paths, version, lambda _: None)
    before = kept(root)
    shown = deltalake.DeltaTable(str(root.paths.published_table))
    noted(root, -1, b0=Pin(table_id=str(shown.metadata().id), version=0))
    assert kept(root) - before == {2}


def test_a_torn_note_or_a_foreign_table_keeps_nothing(root):
    before = kept(root)
    noted(root, -1, b0=Pin(table_id="another", version=2))
    assert kept(root) == before
    (Paths(root.settings.root, READER).checkpoint / "inputs" / "0").write_text("{")
    assert still_read(root.paths.root) == set()
