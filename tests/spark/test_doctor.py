"""Files of a real checkpoint torn, changed or lost: refused by name, mended, no wrong row."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.admin.doctor import doctor
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import CheckpointBroken
from tests.harness.costs import made_once
from tests.harness.crash import copied
from tests.harness.refused import fails
from tests.harness.roots import ROOT
from tests.harness.scene import Scene
from tests.harness.turns import held_by

pytestmark = held_by("unit/test_doctor.py")

Damage = Callable[[Path], object]


def last(checkpoint: Path) -> int:
    return Checkpoint(checkpoint).committed()[-1]


def log(name: str, back: int = 0) -> Callable[[Path], Path]:
    return lambda checkpoint: checkpoint / name / str(last(checkpoint) - back)


def state(kind: str) -> Callable[[Path], Path]:
    """The newest file of that kind in a store."""
    return lambda checkpoint: max(
        checkpoint.glob(f"state/1/0/{kind}"), key=lambda path: path.stat().st_mtime_ns
    )


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
    """Two deliveries drained, and a third that waits; by the store's provider."""

    @made_once
    def make(provider: str) -> Scene:
        made = Scene(
            kafka,
            tmp_path_factory.mktemp("base"),
            "departure_delays",
            events=1200,
            deliveries=3,
            stores=1,
            partitions=2,
        )
        made.change(state=made.spec.state.model_copy(update={"provider": provider}))
        for number in range(2):
            made.deliver()
            made.run(f"run-{number}")
        made.deliver()
        return made

    return make


@pytest.fixture
def scene(base, tmp_path, request) -> Scene:
    """A copy of it to damage."""
    return copied(base(getattr(request, "param", "rocksdb")), tmp_path / ROOT)


def mended(scene: Scene) -> str:
    """What doctor says, done."""
    lines, execute = doctor(scene.spec, scene.settings)
    assert execute is not None, lines
    execute()
    return "\n".join(lines)


def refused(scene: Scene, where: Callable[[Path], Path], damage: Damage) -> None:
    """Damage the file: a run is refused by its name, and doctor tells it."""
    hurt = where(Path(str(scene.paths.checkpoint))).resolve()
    damage(hurt)
    name = f"{hurt.parent.name}/{int(hurt.name) + 1 if damage is begin_in_vain else hurt.name}"
    report = scene.drain("refused")
    problem = report.problem
    assert (problem.code, problem.parameters["pipeline"]) == ("CHECKPOINT_BROKEN", scene.spec.name)
    # A state file is found by Spark, which may name none, or another; doctor names it.
    told = map(str, problem.parameters.values())
    assert "state" in hurt.parts or any(name in each for each in told), problem
    assert name in "\n".join(doctor(scene.spec, scene.settings).lines)
    assert report.batches == ()


# Of each kind of file and mending one damage is mended, and the run goes on; the others are to be
# refused and told.
BACK, AGAIN, PLANNED_AGAIN = (
    "go back to the end of batch", "runs again, for its state", "Spark plans it again",
)  # fmt: skip
KINDS = [
    ("rocksdb", log("commits"), tear, (empty, flip), AGAIN),
    ("rocksdb", log("offsets"), lose, (empty, tear, flip), BACK),
    ("rocksdb", log("offsets"), begin_in_vain, (), PLANNED_AGAIN),
    ("rocksdb", named("metadata"), empty, (lose,), "write .*metadata again"),
    ("rocksdb", named("../cursor.json"), tear, (), "write .*cursor.json again"),
    ("rocksdb", state("*.zip"), tear, (lose, flip), BACK),
    ("rocksdb", state("SSTs/*.sst"), flip, (lose, tear), BACK),
    ("hdfs", state("*.delta"), flip, (lose,), BACK),
]
TOLD = [
    (provider, where, damage, mending)
    for provider, where, _, others, mending in KINDS
    for damage in others
]
TOLD += [("rocksdb", log("offsets", 1), flip, BACK)]


@pytest.mark.parametrize(
    ("scene", "where", "damage", "mending"),
    [(provider, where, damage, mending) for provider, where, damage, _, mending in KINDS],
    indirect=["scene"],
)
def test_damage_is_refused_and_mended(scene, where, damage, mending):
    refused(scene, where, damage)
    assert re.search(mending, mended(scene))
    scene.run("mended")
    scene.assert_exact()
    assert doctor(scene.spec, scene.settings).execute is None, "nothing is left to fix"


@pytest.mark.parametrize(("scene", "where", "damage", "mending"), TOLD, indirect=["scene"])
def test_other_damage_to_the_same_files_is_refused_with_its_mending(scene, where, damage, mending):
    refused(scene, where, damage)
    lines, execute = doctor(scene.spec, scene.settings)
    assert execute is not None, lines
    assert re.search(f"fix: .*{mending}", "\n".join(lines)), lines


def test_two_lost_entries_are_found_by_what_the_table_has(scene):
    checkpoint = Path(str(scene.paths.checkpoint))
    for path in [log("offsets")(checkpoint), log("commits")(checkpoint)]:
        path.unlink()
    assert scene.drain("refused").problem.code == "CHECKPOINT_FOREIGN"
    assert BACK in mended(scene)
    scene.run("mended")
    scene.assert_exact()


def test_where_nothing_is_whole_it_says_so_and_does_nothing(scene):
    lines, execute = doctor(scene.spec, scene.settings)
    assert (execute, [line for line in lines if "damaged" in line]) == (None, []), "all is whole"
    tear(next(scene.paths.checkpoint.glob("state/0/0/_metadata/*")))
    with fails(CheckpointBroken, "no_whole_batch", pipeline="departure_delays"):
        doctor(scene.spec, scene.settings)
