"""`sluice rebuild` in a process of its own, killed in its switch; the next drain completes it."""

import signal

import deltalake

from spark_jobs.checkpoint.notes.rebuild_note import read_begun
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.paths import Paths
from tests.e2e import changed
from tests.e2e.changed.miles_flown.spec import NEXT, SPEC
from tests.harness.command import answer, sluice, undone
from tests.harness.long_form import long_form
from tests.harness.scene import Scene

NAME = SPEC.name


def farthest(scene: Scene, spec: Pipeline = SPEC) -> int:
    """In the table of this spec's state version."""
    paths = Paths(scene.settings.root, spec)
    table = deltalake.DeltaTable(str(paths.table)).to_pyarrow_table()
    return max(table["miles"].to_pylist())


@long_form
def test_a_rebuild_computes_compares_and_switches_and_a_kill_in_the_switch_is_mended(
    kafka, tmp_path
):
    scene = Scene(kafka, tmp_path, SPEC, events=1500, deliveries=2, topic="flights")
    scene.deliver()
    assert f"{NAME} NEXT" in answer(sluice(scene, changed.__name__, "validate", NAME))
    answer(sluice(scene, changed.__name__, "drain", NAME))
    sums = farthest(scene)

    dry = undone(sluice(scene, changed.__name__, "rebuild", NAME))
    assert "Kafka has every record that the live table was made from" in dry
    assert "nothing is done yet: add --execute" in dry
    assert read_begun(scene.paths) is None

    killed = sluice(
        scene,
        changed.__name__,
        "rebuild",
        NAME,
        "--execute",
        "--yes",
        SLUICE_FAILPOINTS="change.begun=exit",
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert "changed, 0 added, 0 removed" in killed.stdout
    told = undone(sluice(scene, changed.__name__, "rewind", NAME, "--to-batch", "0"))
    assert "complete the switch to state version 2" in told

    scene.deliver()
    said = answer(sluice(scene, changed.__name__, "drain", NAME))
    assert "unaccounted 0" in said
    assert farthest(scene, NEXT) < sums
    assert "is live already" in sluice(scene, changed.__name__, "rebuild", NAME).stderr

    answer(sluice(scene, changed.__name__, "rebuild", NAME, "--back", "--execute", "--yes"))
    assert farthest(scene) == sums
    assert read_begun(scene.paths) is None
