"""What a case's acts do without Spark: the repair that an undo takes back, and the copy of a kill."""

from datetime import timedelta

import pytest

from spark_jobs.ops.repairs import UNDO
from spark_jobs.proof import acts, image
from spark_jobs.proof.cases import Act
from spark_jobs.proof.scratch import Scratch
from tests.harness.roots import NOON
from tests.unit.drains import SPEC, Drains


def test_each_undo_takes_back_the_newest_repair_that_is_in_the_table(tmp_path, monkeypatch):
    root, undone = Drains(tmp_path / "root"), []
    scratch = Scratch(SPEC, None, root.settings)

    def says(repair: str, state: str, hours: int | None) -> None:
        at = None if hours is None else NOON + timedelta(hours=hours)
        row = {"pipeline": SPEC.name, "generation": "g1", "repair_id": repair}
        root.put("repairs", row | {"state": state, "swapped_at": at})

    def undo(_: object, __: str, repair: str, ___: str) -> None:
        undone.append(repair)

    monkeypatch.setattr(acts, "undo", undo)
    with pytest.raises(acts.Unmet):
        acts.acted(scratch, Act(verb="undo"), "act")
    says("r1", "swapped", 1)
    says("r2", "undone", 2)
    says(f"r2{UNDO}", "swapped", 3)
    says("r3", "staged", None)
    acts.acted(scratch, Act(verb="undo"), "act")
    assert undone == ["r1"]


def test_a_copy_of_a_root_that_does_not_come_to_rest_is_none(tmp_path, monkeypatch):
    (root := tmp_path / "root").mkdir()
    monkeypatch.setattr(image, "PATIENCE_SECONDS", -1)
    monkeypatch.setattr(image, "files", lambda _: object())  # written to all the time
    with pytest.raises(TimeoutError):
        image.copy_at_rest(root, tmp_path / "image")
    assert not (tmp_path / "image").exists()
