"""Folders of a store copied object by object; and resets that are killed or overtaken."""

import os
import uuid
from collections.abc import Callable
from itertools import count

import pytest
from deltalake import DeltaTable
from upath import UPath

from spark_jobs.admin.care import remove_place
from spark_jobs.admin.intent import Intent
from spark_jobs.admin.reset import reset
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.notes.begun import under_way
from spark_jobs.checkpoint.notes.live import read_live
from spark_jobs.errors import CheckpointBroken, LeaseHeld, LeaseLost
from spark_jobs.journal.runner import leased
from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish
from spark_jobs.storage import failpoint
from spark_jobs.storage.folders import copy
from spark_jobs.storage.root.paths import Paths
from tests.harness.refused import fails
from tests.harness.roots import ROOT
from tests.unit.drains import SPEC, Drains

CONTENT = {"offsets/0": "first", "offsets/1": "second", "identity.json": "{}"}


@pytest.fixture
def root() -> UPath:
    """A store in memory: objects, and no folders to rename."""
    made = UPath(f"memory://bucket/{uuid.uuid4().hex}")
    for name, text in CONTENT.items():
        (made / "v1" / name).write_text(text)
    return made


def nothing():
    """The lease is held."""


def everything(_: str) -> bool:
    """It is wanted."""
    return True


def lost_after(confirmed: int) -> Callable[[], None]:
    """It is held so many times."""
    left = iter(range(confirmed))

    def confirm():
        if next(left, None) is None:
            raise LeaseLost("it was taken by another")

    return confirm


def objects(folder: UPath) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in CONTENT if (folder / name).exists()}


@pytest.mark.parametrize("confirmed", [0, 2], ids=["before copying", "amid copying"])
def test_whoever_has_lost_the_lease_copies_no_more_and_another_goes_on(root, confirmed):
    with pytest.raises(LeaseLost):
        copy(root / "v1", root / "v1.kept", lost_after(confirmed), everything)
    assert (objects(root / "v1"), len(objects(root / "v1.kept"))) == (CONTENT, confirmed)
    assert copy(root / "v1", root / "v1.kept", nothing, everything) == len(CONTENT) - confirmed
    assert objects(root / "v1.kept") == CONTENT


def test_on_a_disk_the_whole_copy_is_written_out_before_it_is_relied_on(tmp_path, monkeypatch):
    """A cut of the power takes what a machine has only in its memory."""
    flushed: list[dict[str, str]] = []
    new = UPath(tmp_path / "new")
    monkeypatch.setattr(os, "sync", lambda: flushed.append(objects(new)))
    for name, text in CONTENT.items():
        (path := tmp_path / "old" / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    copy(UPath(tmp_path / "old"), new, nothing, everything)
    assert flushed == [CONTENT]


def test_a_reset_that_another_has_ended_moves_nothing_of_what_the_next_run_wrote(tmp_path):
    root = Drains(tmp_path / "root")
    root.drain(0, 2)
    late = reset(SPEC, root.settings)
    first = reset(SPEC, root.settings)
    assert late.execute is not None
    first.execute()
    Drains(tmp_path / "root", generation="g2").drain(0, 1)
    with fails(LeaseHeld, "overtaken", again=f"sluice reset {SPEC.name}"):
        late.execute()


@pytest.mark.parametrize("place", range(4))
def test_a_reset_cut_off_is_completed_by_whoever_has_the_lease_next(tmp_path, place, monkeypatch):
    root = Drains(tmp_path / "root")
    root.drain(0, 2)
    publish(root.paths, SPEC, Announced())
    places = count()

    def at(name: str):
        if next(places) == place:
            raise KeyboardInterrupt

    with monkeypatch.context() as active:
        active.setattr(failpoint, "at", at)
        with pytest.raises(KeyboardInterrupt):
            run(reset(SPEC, root.settings))
    with leased(Paths(root.settings.root, SPEC), "whoever comes next"):
        now = Paths(root.settings.root, SPEC)
    assert not now.identity.exists()
    assert (now.table.name, now.table.exists()) == (f"{SPEC.name}.v1.2", False)
    shown = DeltaTable(str(root.paths.published_table)).to_pyarrow_table().column("n").to_pylist()
    assert sorted(shown) == [0, 1, 2], "consumers read what they were told of"


def test_a_reset_beside_a_stage_leaves_it_its_folder_which_goes_with_its_place(tmp_path):
    made = Drains(tmp_path / ROOT)
    made.drain(0, 1)
    rows = made.paths.staging("r1") / "rows"
    rows.mkdir(parents=True)
    with lease(made.paths.staging_lease, "a stage"):
        run(reset(SPEC, made.settings))
        assert rows.exists()
    now = Paths(made.settings.root, SPEC)
    fact = read_live(now)
    assert fact is not None
    with lease(now.lease, "maintain") as held:
        for dead in fact.dead:
            remove_place(now, dead, held)
    assert not rows.exists()


def test_a_publish_that_a_reset_overtakes_tells_what_it_has_fixed(tmp_path, monkeypatch):
    """Publish takes no lease: the checkpoint is moved aside before it shows the version."""
    root = Drains(tmp_path / ROOT)
    root.drain(0, 2)

    def reset_beside(name: str):
        if name == "fixed":
            monkeypatch.setattr(failpoint, "at", lambda _: None)
            run(reset(SPEC, root.settings))

    monkeypatch.setattr(failpoint, "at", reset_beside)
    [event] = publish(root.paths, SPEC, Announced())
    assert (event.number, event.table_version) == (1, 3)


@pytest.mark.parametrize("torn", [b"{", b'{"\xff\xfe": 1}'])
def test_a_reset_gives_up_a_change_that_cannot_be_completed(tmp_path, torn):
    root = Drains(tmp_path / "root")
    root.drain(0, 2)
    root.paths.journal.write_bytes(torn)
    with pytest.raises(CheckpointBroken):
        under_way(root.paths)
    run(reset(SPEC, root.settings))
    assert under_way(root.paths) is None
    [aside] = root.paths.version.glob("given-up-*/journal.json")
    assert aside.read_bytes() == torn
    assert Paths(root.settings.root, SPEC).place != root.paths.place


def run(intent: Intent):
    intent.execute()
