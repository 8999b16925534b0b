"""Folders of a store moved object by object: what is left is told, and whoever has lost the lease
touches nothing more.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from spark_jobs.admin.reset import reset
from spark_jobs.contract.errors import LeaseHeld, LeaseLost, RootRefused
from spark_jobs.contract.settings import Settings
from spark_jobs.storage.folders import move, unfinished_moves
from tests.unit.specs import pipeline

CONTENT = {"offsets/0": "first", "offsets/1": "second", "identity.json": "{}"}


@pytest.fixture
def root() -> UPath:
    """A store in memory: objects, and no folders to rename."""
    made = UPath(f"memory://bucket/{uuid.uuid4().hex}")
    for name, text in CONTENT.items():
        (made / "v1" / name).write_text(text)
    return made


def nothing() -> None:
    """The lease is held."""


def lost_after(confirmed: int) -> Callable[[], None]:
    """It is held so many times."""
    left = iter(range(confirmed))

    def confirm() -> None:
        if next(left, None) is None:
            raise LeaseLost("it was taken by another")

    return confirm


def objects(folder: UPath) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in CONTENT if (folder / name).exists()}


def test_what_is_moved_is_there_and_no_longer_here_and_the_note_is_gone(root: UPath) -> None:
    [said] = move([(root / "v1", root / "v1.kept")], root / "moving.json", nothing)
    assert said.startswith("copied 3 objects of")
    assert (objects(root / "v1"), objects(root / "v1.kept")) == ({}, CONTENT)
    assert not (root / "moving.json").exists()


def test_an_object_that_the_store_did_not_remove_is_told_and_the_move_is_not_done(
    root: UPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    moves = [(root / "v1", root / "v1.kept")]
    note = root / "moving.json"
    removing = root.fs.rm
    with monkeypatch.context() as patch:
        # As s3fs does, where the store's answer to a removal of many names some that failed.
        patch.setattr(
            root.fs,
            "rm",
            lambda paths, **_: removing([path for path in paths if "offsets/1" not in path]),
        )
        with pytest.raises(
            RootRefused, match=r"left 1 objects of .*/v1 where they are.*offsets/1 is the first"
        ):
            move(moves, note, nothing)
    assert unfinished_moves(note) == moves, "no run begins"
    move(unfinished_moves(note), note, nothing)
    assert (objects(root / "v1"), objects(root / "v1.kept")) == ({}, CONTENT)


@pytest.mark.parametrize(
    "confirmed", [0, 2, 3], ids=["before copying", "amid copying", "before removing"]
)
def test_whoever_has_lost_the_lease_removes_nothing_and_copies_no_more(
    root: UPath, confirmed: int
) -> None:
    note: Any = root / "moving.json"
    with pytest.raises(LeaseLost):
        move([(root / "v1", root / "v1.kept")], note, lost_after(confirmed))
    assert objects(root / "v1") == CONTENT
    assert len(objects(root / "v1.kept")) == confirmed
    assert unfinished_moves(note)


def test_the_note_of_a_copied_root_is_about_the_copy(root: UPath) -> None:
    note = root / "checkpoints" / "mine" / "moving.json"
    moves = [(note.parent / "v1", note.parent / "v1.kept"), (root / "v1", root / "v1.kept")]
    with pytest.raises(LeaseLost):
        move(moves, note, lost_after(0))
    copied = UPath(f"memory://bucket/{uuid.uuid4().hex}")
    there = copied / "checkpoints" / "mine"
    (there / "moving.json").write_text(note.read_text())
    assert unfinished_moves(note) == moves
    assert unfinished_moves(there / "moving.json") == [
        (there / "v1", there / "v1.kept"),
        (copied / "v1", copied / "v1.kept"),
    ]


def test_a_note_by_absolute_names_is_refused_and_does_not_count_as_moved(root: UPath) -> None:
    note = root / "moving.json"
    note.write_text(f'[["{root / "v1"}", "{root / "v1.kept"}"]]')
    with pytest.raises(RootRefused, match="is of an older version: it has memory://"):
        unfinished_moves(note)
    assert note.exists()


def test_a_reset_that_another_has_ended_meanwhile_moves_nothing_of_what_the_next_run_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = pipeline()
    settings = Settings(str(tmp_path), "127.0.0.1:1", tmp_path, "local[1]", "1g")
    version = UPath(tmp_path / "checkpoints" / spec.name / f"v{spec.state.version}")
    looks = iter([[(version, version.with_name("v1.kept"))], []])
    monkeypatch.setattr("spark_jobs.admin.reset.unfinished_moves", lambda _: next(looks))
    intent = reset(spec, settings)
    (version / "spark").mkdir(parents=True)
    assert intent.execute is not None
    with pytest.raises(LeaseHeld, match="has begun or ended since this one looked"):
        intent.execute()
    assert (version / "spark").exists()
