"""The overview of a root: from files and ops tables as runs leave them, whatever is wrong with one."""

import importlib
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from upath import UPath

from spark_jobs.checkpoint import lease as lease_of_files, sign as sign_of_life
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.notes.begun import Begun
from spark_jobs.checkpoint.notes.published import Published
from spark_jobs.checkpoint.object_lease import ObjectLease
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import StateUse
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.overview import lines as of_files
from spark_jobs.overview.json_of_overview import PipelineLine, strip
from spark_jobs.overview.lines import YOUNG_SECONDS, lines, overview
from spark_jobs.overview.reading import Due
from spark_jobs.registry import find as registry
from spark_jobs.storage.root.paths import Paths
from tests.harness.roots import Root, manifest
from tests.unit.marked import days, drained

HOUR = timedelta(hours=1)
HOSTILE = "<script>'; DROP TABLE runs; --\u202e"
SPEC = """\
from tests.unit.specs import pipeline
SPEC = pipeline(name={name!r}, state={{"budget_rows": 1000}})
"""


class Scene:
    """Pipelines of a package of their own, under one root."""

    def __init__(self, folder: Any, package: str) -> None:
        self.root, self.package, self.now = folder / "root", folder / package, datetime.now(UTC)
        self.root.mkdir()
        self.package.mkdir()
        (self.package / "__init__.py").touch()

    def spec(self, name: str, text: str = SPEC) -> None:
        (self.package / name).mkdir()
        (self.package / name / "__init__.py").touch()
        (self.package / name / "spec.py").write_text(text.format(name=name))
        importlib.invalidate_caches()

    def well(self, name: str) -> Root:
        """Three hourly drains, all published."""
        self.spec(name)
        made = Root(self.root, registry.load(name))
        made.paths.ensure_writable()
        made.identified("g1")
        for n in range(3):
            self.drained(made, n)
        Published(number=1, table_version=2, batch=2, generation="g1").fix(made.paths)
        return made

    def drained(self, of: Root, number: int, problem: str | None = None, **more: Any) -> None:
        """The drain of this batch: that of batch 2 ended now."""
        at = self.now - (2 - number) * HOUR
        account = Account(covered=9, read=9, accepted=9, rows_out=5)
        given = {"at": at, "watermark": at - 2 * HOUR, "account": account, "batches": (number,)}
        of.ended(f"run-{number}", problem, **given | {"state": StateUse(rows=100 * number)} | more)
        of.put("batches", self.own(of) | {"batch_id": number, "table_version": number, "rows_out": 5}
               | {"audited_at": at, "state_rows": 100 * number, "state_bytes": 9})  # fmt: skip

    def own(self, of: Root) -> dict[str, Any]:
        return {"pipeline": of.spec.name, "generation": "g1"}

    def rejected(self, of: Root, table: str, *offsets: int, generation: str = "g1") -> None:
        rows = [
            self.own(of) | {"generation": generation, "partition": 0, "offset": offset}
            | {"batch_id": 1, "run_id": f"run-{offset % 3}"}
            for offset in offsets
        ]  # fmt: skip
        of.put(table, *rows)

    def found(self, due: dict[str, Due] | None = None) -> dict[str, PipelineLine]:
        every = overview(lines(UPath(self.root), registry.names(), due or {}))
        return {each.pipeline: each for each in every.pipelines}

    def troubles(self, **due: Due) -> dict[str, list[str]]:
        return {
            name: [each.name for each in line.troubles] for name, line in self.found(due).items()
        }


@pytest.fixture
def scene(tmp_path, monkeypatch, request):
    package = f"pipelines_of_{abs(hash(request.node.nodeid))}"
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SLUICE_PIPELINES", package)
    yield Scene(tmp_path, package)
    for name in [each for each in sys.modules if each.partition(".")[0] == package]:
        del sys.modules[name]


def test_pipelines_that_are_well_are_in_no_trouble_and_their_drains_are_there_newest_first(scene):
    scene.well("b")
    scene.well("a")
    found = scene.found()
    assert [*found] == ["a", "b"]
    [a, _] = found.values()
    assert (a.troubles, a.unpublished_rows, a.late_waiting) == ((), 0, 0)
    assert [each.run_id for each in a.runs] == ["run-2", "run-1", "run-0"]
    assert a.last is not None
    assert (a.last.run_id, a.state_rows, a.growth, a.state_bytes) == ("run-2", 200, 200, 9)


def test_nothing_is_there_before_the_first_run_and_no_table_is_made(scene):
    scene.spec("a")
    found = scene.found()["a"]
    assert (found.troubles, found.last, found.runs, found.late_waiting) == ((), None, (), None)
    assert not (scene.root / "ops").exists()


def test_each_trouble_is_found_by_what_runs_leave_behind(scene):
    scene.drained(scene.well("failed"), 2, "KAFKA_UNREACHABLE", at=scene.now + HOUR)
    unpublished = scene.well("unpublished")
    Published(number=2, table_version=0, batch=0, generation="g1").fix(unpublished.paths)
    scene.well("overdue")
    scene.well("paused")
    late = scene.well("late")
    scene.rejected(late, "late", 3, 7)
    warned = scene.well("warned")
    own = scene.own(warned) | {"run_id": "run-2", "type": "expect", "column": HOSTILE}
    warned.put("checks", own | {"severity": "warning", "outcome": "failed"})
    warned.put("checks", own | {"severity": "info", "outcome": "failed", "type": "other"})
    fuller = scene.well("fuller")
    scene.drained(fuller, 3, state=StateUse(rows=800))
    fuller.put("batches", scene.own(fuller) | {"batch_id": 4, "state_rows": 801} | {
        "audited_at": scene.now + 2 * HOUR})  # fmt: skip
    repaired = scene.well("repaired")
    repaired.ended("backfill-1", "CHECK_FAILED", kind="backfill", at=scene.now)
    missed = {"overdue": Due(at=scene.now - HOUR), "paused": Due(paused=True, at=scene.now - HOUR)}
    assert scene.troubles(**missed) == {
        "failed": ["failed"],
        "unpublished": ["unpublished"],
        "overdue": ["overdue"],
        "repaired": ["repair failed"],
        "late": ["late waiting"],
        "warned": ["warning"],
        "fuller": ["near budget"],
        "paused": [],
    }
    found = scene.found()
    assert found["late"].troubles[0].since == scene.now - 2 * HOUR
    assert (found["unpublished"].unpublished_batches, found["unpublished"].unpublished_rows) == (
        2,
        10,
    )
    assert HOSTILE in found["warned"].troubles[0].words


def test_a_record_that_a_repair_used_waits_no_more_whatever_another_checkpoint_had(scene):
    late = scene.well("late")
    scene.rejected(late, "late", 3, 7)
    scene.rejected(late, "late", 9, generation="of another")
    scene.rejected(late, "quarantine", 3, 7)
    used = scene.own(late) | {"topic_id": "t", "partition": 0, "source": "late", "repair_id": "r"}
    late.put("merged", used | {"offset": 7, "fate": "merged"})
    late.put("merged", used | {"offset": 3, "fate": "merged", "generation": "of another"})
    late.put("merged", used | {"offset": 3, "fate": "still bad", "source": "quarantine"})
    found = scene.found()["late"]
    assert (found.late, found.late_waiting, found.quarantined_waiting) == (3, 1, 2)
    assert found.troubles[0].since == scene.now - 2 * HOUR


def test_rows_that_a_changed_table_makes_otherwise_wait_for_a_repair(scene, tmp_path):
    root = drained(tmp_path)
    name = root.spec.name
    scene.spec(name, f"from tests.unit.marked import spec_of\nSPEC = spec_of({str(root.file)!r})\n")
    assert "outdated" not in scene.troubles()[name]
    root.has("1", 0, 1, "b")
    root.begin()
    [told] = [each for each in scene.found()[name].troubles if each.name == "outdated"]
    assert "2 ranges" in told.words
    assert told.since is not None
    assert scene.now - told.since < HOUR
    root.repaired("r1", days(0, 8))
    assert "outdated" not in scene.troubles()[name]


def test_a_staged_change_waits_until_a_person_has_answered(scene):
    staged = scene.well("staged")
    row = scene.own(staged) | {"repair_id": "r1", "state": "staged", "staged_at": scene.now - HOUR}
    repairs.put(staged.paths.root, [row])
    assert scene.troubles() == {"staged": []}, "its staged rows were removed since"
    folder = staged.paths.staging("r1")
    folder.mkdir(parents=True)
    waits = manifest("staged", approval="needed")
    waits.write(folder / "manifest.json")
    assert scene.troubles() == {"staged": ["to approve"]}
    waits.model_copy(update={"approved_by": "ann"}).write(folder / "manifest.json")
    assert scene.troubles() == {"staged": []}


def test_a_change_that_was_cut_off_is_told_unless_somebody_carries_it_out(scene, monkeypatch):
    monkeypatch.setattr(of_files, "YOUNG_SECONDS", -1e9)
    cut = scene.well("cut")
    at = scene.now - HOUR
    note = Begun(change="x", version="v1", id="i", by="ann", at=at, words="a reset", facts={})
    note.write(cut.paths.journal)
    assert scene.troubles() == {"cut": ["cut off"]}
    with lease(cut.paths.lease, "another"):
        assert scene.troubles() == {"cut": []}
    assert scene.troubles() == {"cut": ["cut off"]}
    note.model_copy(update={"ended": True}).write(cut.paths.journal)
    assert scene.troubles() == {"cut": []}


def test_who_looks_whether_somebody_carries_a_change_out_writes_nothing(scene, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(1, "this key may only read")

    cut = scene.well("cut")
    at = scene.now - HOUR
    note = Begun(change="x", version="v1", id="i", by="ann", at=at, words="a reset", facts={})
    note.write(cut.paths.journal)
    for module in (lease_of_files, sign_of_life):  # a folder stands for a store
        monkeypatch.setattr(module, "is_local", lambda _: False)
    held = ObjectLease(cut.paths.lease, "another")
    held.take()
    with monkeypatch.context() as reads:
        reads.setattr("obstore.put", refuse)
        assert scene.troubles() == {"cut": []}
    held.release()
    monkeypatch.setattr("obstore.put", refuse)
    assert scene.troubles() == {"cut": ["cut off"]}


def test_what_cannot_be_read_of_one_is_said_on_its_line_and_hides_no_other(scene):
    scene.well("well")
    torn = scene.well("torn")
    torn.paths.identity.write_text("{")
    elsewhere = scene.well("elsewhere")
    Paths(str(scene.root), elsewhere.spec).live.write_text("[]")
    scene.well("unknown")
    sys.modules.pop(registry.module("unknown", "spec"))
    (scene.package / "unknown" / "spec.py").write_text("import no_such_module")
    scene.spec("exits", "import sys; sys.exit(0)")
    found = scene.found()
    codes = {
        name: line.troubles[0].words.partition(":")[0]
        for name, line in found.items()
        if line.troubles
    }
    assert codes == {
        "torn": "CHECKPOINT_BROKEN",
        "elsewhere": "CHECKPOINT_BROKEN",
        "unknown": "SPEC_INVALID",
        "exits": "SPEC_INVALID",
    }
    assert all(line.troubles[0].name == "unreadable" for line in [*found.values()][:-1])
    assert [*found][-1] == "well"
    assert len(found["torn"].runs) == 3, "what can be read is shown"
    assert found["torn"].unpublished_rows is None, "and what cannot be read is not 0"


def test_files_are_read_again_where_one_has_changed_and_only_there(scene, monkeypatch):
    monkeypatch.setattr(of_files, "YOUNG_SECONDS", -1e9)  # whatever the clock of this disk
    changes = scene.well("changes")
    scene.well("stays")
    read, reads = of_files._read, list[str]()  # noqa: SLF001 - it counts
    monkeypatch.setattr(
        of_files, "_read", lambda root, name: reads.append(name) or read(root, name)
    )
    for _ in range(2):
        assert scene.found()["changes"].unpublished_batches == 0
    assert sorted(reads) == ["changes", "stays"]
    Published(number=2, table_version=0, batch=0, generation="g1").fix(changes.paths)
    assert scene.found()["changes"].unpublished_batches == 2
    changes.identified("g2")
    assert scene.found()["changes"].unpublished_batches == 0
    assert reads[2:] == ["changes", "changes"]
    changes.paths.identity.write_text("{")  # in its place, as an editor may
    assert scene.found()["changes"].lacking.startswith("CHECKPOINT_BROKEN")


def test_a_file_that_was_just_written_is_read_again_since_its_time_may_hide_a_second_write(scene):
    scene.well("a")
    scene.found()
    assert YOUNG_SECONDS >= 1
    assert not [each for each in of_files._KEPT if each[0] == str(scene.root)]  # noqa: SLF001 - whether it is kept


def test_the_strip_has_the_newest_drain_right_each_with_its_verdict_and_gaps_between(scene):
    a = scene.well("a")
    for n, problem in ((3, "CHECK_FAILED"), (9, "KAFKA_UNREACHABLE")):
        scene.drained(a, n, problem)
    scene.drained(a, 10, account=Account())
    spots = strip(scene.found()["a"].runs).spots
    assert [each.kind for each in spots] == [
        "good", "good", "good", "judged", None, "failed", "idle",
    ]  # fmt: skip
    assert [each.x for each in spots] == sorted({each.x for each in spots})
    assert "KAFKA_UNREACHABLE" in spots[5].title


def test_at_most_thirty_drains_of_each_are_shown_and_none_of_another_kind(scene):
    a = scene.well("a")
    rows = [
        {"pipeline": "a", "kind": kind, "status": "succeeded", "run_id": f"{kind}{n}"}
        | {"started_at": scene.now + n * HOUR, "ended_at": scene.now + n * HOUR}
        for n in range(1, 40)
        for kind in ("drain", "repair", "rebuild")
    ]
    ops_tables.append(a.paths.root, "runs", rows)
    found = scene.found()["a"]
    assert [each.run_id for each in found.runs] == [f"drain{n}" for n in range(39, 9, -1)]
