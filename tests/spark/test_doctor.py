"""Files of a real checkpoint torn, changed or lost: the run is refused by the file's name, then mended; never a wrong row."""

from __future__ import annotations

import copy
import logging
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from spark_jobs.checkpoint import Checkpoint
from spark_jobs.contract.errors import CheckpointBroken
from spark_jobs.contract.paths import Paths
from spark_jobs.doctor import doctor
from spark_jobs.drain import drain
from tests.harness.scene import Scene

Damage = Callable[[Path], object]


def run(scene: Scene, name: str):
    return drain(scene.spec, scene.settings, name, logging.getLogger("drain").info)


def last(checkpoint: Path) -> int:
    return Checkpoint(checkpoint).committed()[-1]


def log(name: str, back: int = 0) -> Callable[[Path], Path]:
    return lambda checkpoint: checkpoint / name / str(last(checkpoint) - back)


def state(kind: str) -> Callable[[Path], Path]:
    """The newest file of that kind in a store."""
    return lambda checkpoint: max(checkpoint.glob(f"state/1/0/{kind}"), key=lambda path: path.stat().st_mtime_ns)


def named(name: str) -> Callable[[Path], Path]:
    return lambda checkpoint: checkpoint / name


def empty(path: Path) -> None:
    path.write_bytes(b"")


def tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def lose(path: Path) -> None:
    path.unlink()


def begin_in_vain(path: Path) -> None:
    """The entry of a batch after the last, as a crash of the machine leaves it."""
    path.with_name(str(int(path.name) + 1)).write_bytes(b"")


@pytest.fixture(scope="module")
def base(kafka, tmp_path_factory):
    """Three deliveries drained, and a fourth that waits; by the store's provider."""

    @cache
    def make(provider: str) -> Scene:
        made = Scene(kafka, tmp_path_factory.mktemp("base"), "departure_delays", events=3000, deliveries=4)
        made.spec = made.spec.model_copy(update={"state": made.spec.state.model_copy(update={"provider": provider})})
        for number in range(3):
            made.deliver()
            report = run(made, f"run-{number}")
            assert report.status == "succeeded", report.problem
        made.deliver()
        return made

    return make


@pytest.fixture
def scene(base, tmp_path, request) -> Scene:
    """A copy of it to damage."""
    like = base(getattr(request, "param", "rocksdb"))
    made = copy.copy(like)
    made.settings = like.settings._replace(root=str(tmp_path / "root"))
    made.paths = Paths(made.settings.root, made.spec)
    shutil.copytree(like.settings.root, made.settings.root)
    return made


def mended(scene: Scene) -> str:
    """What doctor says, done."""
    lines, execute = doctor(scene.spec, scene.settings)
    assert execute is not None, lines
    execute()
    return "\n".join(lines)


BACK = "go back to the end of batch"
DAMAGES = [
    *((log("commits"), damage, "runs again, for its state") for damage in (empty, tear, flip)),
    *((log("offsets"), damage, BACK) for damage in (empty, tear, flip, lose)),
    (log("offsets", 1), flip, BACK),
    (log("offsets"), begin_in_vain, "it is planned anew"),
    *((named("metadata"), damage, "write .*metadata anew") for damage in (empty, lose)),
    (named("../cursor.json"), tear, "write .*cursor.json anew"),
]
SNAPSHOTS = [(state("*.zip"), damage, BACK) for damage in (lose, tear, flip)]
SSTS = [(state("SSTs/*.sst"), damage, BACK) for damage in (lose, flip)]
DELTAS = [(state("*.delta"), damage, BACK) for damage in (lose, flip)]


@pytest.mark.parametrize(("scene", "where", "damage", "mending"), [
    *(("rocksdb", *case) for case in (*DAMAGES, *SNAPSHOTS, *SSTS)), *(("hdfs", *case) for case in DELTAS),
], indirect=["scene"])
def test_damage_is_refused_and_mended(scene, where, damage, mending):
    damage(where(Path(str(scene.paths.checkpoint))))
    refused = run(scene, "refused")
    assert refused.problem is not None
    assert refused.problem.code == "CHECKPOINT_BROKEN", refused.problem
    assert refused.batches == ()
    assert f"sluice doctor {scene.spec.name}" in refused.problem.remedy
    assert re.search(mending, mended(scene))
    report = run(scene, "mended")
    assert report.status == "succeeded", report.problem
    scene.assert_exact()
    assert doctor(scene.spec, scene.settings).execute is None, "nothing is left to mend"


def test_a_lost_commit_is_what_a_crash_leaves_and_needs_no_doctor(scene):
    log("commits")(Path(str(scene.paths.checkpoint))).unlink()
    again = run(scene, "again")
    assert again.status == "succeeded", again.problem
    scene.assert_exact()


def test_two_lost_entries_are_found_by_what_the_table_has(scene):
    checkpoint = Path(str(scene.paths.checkpoint))
    paths = [log("offsets")(checkpoint), log("commits")(checkpoint)]
    for path in paths:
        path.unlink()
    assert run(scene, "refused").problem.code == "CHECKPOINT_FOREIGN"
    assert "go back to the end of batch" in mended(scene)
    again = run(scene, "mended")
    assert again.status == "succeeded", again.problem
    scene.assert_exact()


def test_where_nothing_is_whole_it_says_so_and_does_nothing(scene):
    tear(next(scene.paths.checkpoint.glob("state/0/0/_metadata/*")))
    with pytest.raises(CheckpointBroken, match="no batch of departure_delays is whole") as told:
        doctor(scene.spec, scene.settings)
    assert "sluice reset departure_delays" in told.value.remedy


def test_a_whole_checkpoint_needs_nothing(scene):
    lines, execute = doctor(scene.spec, scene.settings)
    assert execute is None
    assert not [line for line in lines if "damaged" in line]
