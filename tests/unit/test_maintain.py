"""`sluice maintain` over real tables without Spark: what it joins and removes, and what it leaves."""

import json
import os
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from spark_jobs.admin import maintain as maintained
from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.maintain import maintain, maintain_ops
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.notes.cursor import Cursor, read_cursor
from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.checkpoint.notes.noted_versions import Pins
from spark_jobs.checkpoint.notes.published import Published, read_published
from spark_jobs.cli import app
from spark_jobs.errors import LeaseHeld, MaintenanceRefused, TableContended
from spark_jobs.messages.offset_account import Account
from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.proof.acts import files
from spark_jobs.settings.installation import REPO, Settings
from spark_jobs.storage.pin import Pin
from spark_jobs.storage.root.paths import OPS_TABLES, Paths, report_path
from spark_jobs.table.delta import compaction
from spark_jobs.table.published.table import move
from spark_jobs.table.shared.table import CHECKPOINTS
from tests.harness import roots
from tests.harness.aged import age
from tests.harness.refused import fails, has
from tests.harness.turns import held_by
from tests.unit.checkpoints import begin
from tests.unit.specs import pipeline

pytestmark = held_by("simulation/test_simulation.py", "spark/test_maintain.py")

SPEC = pipeline()
NOW = datetime.now(UTC)
OF_RUNS = tuple(name for name in OPS_TABLES if "run_id" in SCHEMAS[name].names)
"""The ops tables whose rows have the run that wrote them."""
LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)
"""The event time of a late record."""
COLUMNS = pa.schema([("k", pa.string()), ("n", pa.int64())])


class Root(roots.Root):
    """As drains leave it: each batch appends two rows and has its rows in the ops tables."""

    def __init__(self, folder: Path, **settings: str):
        super().__init__(folder, SPEC, **settings)
        self.folder, self.place, self.batches = folder, Path(str(self.paths.table)), 0
        self.paths.ensure_writable()
        self.identified("g")
        begin(Path(str(self.paths.checkpoint)), {0: 0})
        kept = {
            "delta.checkpointInterval": "100",
            "delta.logRetentionDuration": "interval 365 days",
        }
        configuration = {"delta.enableChangeDataFeed": "true"} | kept
        deltalake.DeltaTable.create(str(self.place), COLUMNS, configuration=configuration)
        Cursor(judged_table_version=0).write(self.paths.cursor)

    def drained(self, *, passes=True, publishes=True, at=NOW, everywhere=False):
        """One run of one batch. `everywhere`: all ops tables get a row, not only those of runs."""
        number, self.batches = self.batches, self.batches + 1
        run_id = f"run-{number}"
        note = json.dumps({"sluice": f"{SPEC.name}/g", "batch": number, "run": run_id})
        deltalake.write_deltalake(
            str(self.place),
            pa.table({"k": ["a", "b"], "n": [number, number]}, COLUMNS),
            mode="append",
            commit_properties=deltalake.CommitProperties(custom_metadata={"userMetadata": note}),
        )
        own = {"pipeline": SPEC.name, "generation": "g", "batch_id": number, "run_id": run_id}
        if everywhere:
            self._rejected_and_repaired(own, number, at)
        account = dict.fromkeys(Account().row(), 0) | {"read": 3, "rows_out": 2}
        row = account | {"audited_at": at, "table_version": self.version, "last_event_time": at}
        self.put("batches", own | row | {"state_rows": 7})
        checked = {"pipeline": SPEC.name, "run_id": run_id, "checked_at": at}
        self.put("checks", checked | roots.check("passed").model_dump())
        more = {"at": at, "generation": "g", "batches": (number,), "table_version": self.version}
        report = self.ended(run_id, None if passes else "CHECK_FAILED", **more)
        path = report_path(self.settings.root, SPEC.name, run_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report.model_dump_json())
        now = {"audited": number, "table_version": self.version, "last_event_time": at}
        judged = {"judged": number, "judged_table_version": self.version} if passes else {}
        self.moved(**now, **judged)
        if passes and publishes:
            self.publish()

    def _rejected_and_repaired(self, own: dict[str, Any], number: int, at: datetime):
        where = own | {"topic": "sales", "partition": 0, "offset": number, "value": b"x"}
        self.put("quarantine", where | {"kind": "malformed"})
        self.put("late", where)
        for table in ("repairs", "merged"):
            self.put(table, {"pipeline": SPEC.name, "repair_id": own["run_id"]})
        late = {"late": 1, "first_late_time": LONG_AGO, "last_late_time": LONG_AGO}
        self.put("slices", own | {"first_event_time": at, "last_event_time": at} | late)

    def began(self, *days: int):
        """The first runs, each so many days ago. They passed and were published.

        They are made once, and copied: nothing may have been written to this root.
        """
        shutil.copytree(_began(days).name, self.folder, dirs_exist_ok=True)
        self.batches = len(days)

    def publish(self):
        before = read_published(self.paths)
        Published(
            number=before.number + 1, table_version=self.version, batch=self.batches - 1,
            before_version=before.table_version, before_batch=before.batch,
        ).fix(self.paths)  # fmt: skip

    def maintain(self) -> tuple[str, ...]:
        """What it showed, after it is done."""
        intent = maintain(SPEC, self.settings)
        if intent.execute:
            intent.execute()
        return intent.lines

    def ops(self, table: str, columns: str = "run_id") -> list[Any]:
        values = [tuple(row.values()) for row in self.told(table, columns)]
        return sorted((value[0] if len(value) == 1 else value for value in values), key=str)

    def rows(self, version: int | None = None) -> list[tuple[Any, ...]]:
        return rows(self.place, version)

    def feed(self, since: int) -> list[tuple[Any, ...]]:
        """The change feed of the versions after `since`."""
        feed = self.table.load_cdf(starting_version=since + 1)
        found = pa.table(feed.read_all()).select(["k", "n", "_change_type"]).to_pylist()
        return sorted(tuple(row.values()) for row in found)


@cache
def _began(days: tuple[int, ...]) -> TemporaryDirectory[str]:
    folder = TemporaryDirectory(prefix="sluice-began-")
    made = Root(Path(folder.name))
    if before := days[:-1]:
        made.began(*before)
    made.drained(at=NOW - timedelta(days=days[-1]), everywhere=True)
    return folder


def rows(table: Path, version: int | None = None) -> list[tuple[Any, ...]]:
    stored = deltalake.DeltaTable(str(table), version=version)
    found = deltalake.QueryBuilder().register("t", stored).execute("SELECT k, n FROM t").read_all()
    return sorted(tuple(row.values()) for row in pa.table(found).to_pylist())


def count(folder: Path) -> int:
    """Files of a table's newest version."""
    return len(deltalake.DeltaTable(str(folder)).file_uris())


@pytest.fixture
def root(tmp_path) -> Root:
    return Root(tmp_path / "root")


def test_small_files_are_joined_and_every_row_stays(root):
    root.began(0, 0, 0, 0)
    before = {name: root.ops(name, "*") for name in OPS_TABLES}, root.rows()
    there = files(root.folder)
    assert "join 4 small files of ops.batches" in maintain(SPEC, root.settings).lines
    assert files(root.folder) == there, "showing changes nothing"
    lines = root.maintain()
    assert f"join 4 small files of {root.place}" in lines
    assert ({name: root.ops(name, "*") for name in OPS_TABLES}, root.rows()) == before
    assert count(root.place) == 1
    written = [root.folder / "ops" / name for name in OPS_TABLES if name != "outdated"]
    assert {count(folder) for folder in written} == {1}
    assert maintain(SPEC, root.settings).lines == (f"{SPEC.name}: nothing to do",)
    assert maintain(SPEC, root.settings).execute is None


def test_joining_is_no_change_of_data_and_the_change_feed_shows_none(root):
    root.began(0, 0, 0)
    since = root.version
    root.maintain()
    [entry] = (root.place / "_delta_log").glob(f"{since + 1:020}.json")
    actions = [json.loads(line) for line in entry.read_text().splitlines()]
    moved = [action[kind] for action in actions for kind in ("add", "remove") if kind in action]
    assert (len(moved), {part["dataChange"] for part in moved}) == (4, {False})
    assert root.feed(since) == []


def test_a_file_goes_a_week_after_the_table_stopped_having_it_and_not_before(root):
    root.began(0, 0, 0)
    root.maintain()
    root.drained()
    root.drained()
    age(root.folder, 6)
    root.maintain()
    assert root.rows(2), "a version of six days ago can be read"
    age(root.folder, 2)
    stray = root.place / "part-of-a-run-that-was-killed.parquet"
    stray.write_text("x")
    root.maintain()
    assert stray.exists(), "another may be writing it"
    age(root.folder, 8)
    root.drained()
    assert any("files of" in line for line in root.maintain())
    assert not stray.exists()
    assert len(root.rows()) == 12
    with pytest.raises(Exception, match=r"No such file|not found|NotFound"):
        root.rows(1)


def test_versions_that_consumers_read_stay_whole_however_old(root):
    """Each was published, its files were joined with others, and it was not replaced for long."""
    root.began(0)
    age(root.folder, 30)
    root.drained()
    before = root.version
    age(root.folder, 10)
    root.maintain()
    age(root.folder, 10)
    root.drained()
    published = root.version
    age(root.folder, 1)
    root.maintain()
    age(root.folder, 50)
    root.drained(publishes=False)
    age(root.folder, 10)
    # From here on, removals of long ago are not in the log's newest checkpoint.
    root.table.create_checkpoint()
    root.drained(publishes=False)
    root.maintain()
    assert (len(root.rows(published)), len(root.rows(before))) == (6, 4)


def test_the_published_table_can_be_read_however_long_publish_has_not_moved_it(root):
    """It shows a version whose files were joined with others, and newer rows have passed since."""
    root.began(0, 0)
    age(root.folder, 30)
    root.maintain()
    age(root.folder, 10)
    assert move(root.paths, root.cursor.judged_table_version or 0, refuse_dead)
    shown = rows(Path(str(root.paths.published_table)))
    for days in (50, 40, 10):
        root.drained(publishes=False)
        age(root.folder, 1)
        root.maintain()
        age(root.folder, days)
    root.table.create_checkpoint()
    root.drained(publishes=False)
    assert any("files of" in line for line in root.maintain())
    assert (rows(Path(str(root.paths.published_table))), len(shown)) == (shown, 4)


def test_a_version_that_was_newest_a_week_ago_stays_though_newer_ones_are_published(root):
    root.began(0, 0)
    read = root.version
    age(root.folder, 1)
    root.maintain()
    age(root.folder, 30)
    for _ in range(4):
        root.drained()
    root.maintain()
    assert len(root.rows(read)) == 4


def test_rows_that_have_not_passed_stay_in_the_change_feed(root):
    root.began(0)
    passed = root.version
    root.drained(passes=False)
    root.table.update(predicate="k = 'b' AND n = 1", updates={"n": "9"})
    root.table.delete("n = 0")
    feed = root.feed(passed)
    assert len(feed) == 6
    age(root.folder, 1)
    root.maintain()
    age(root.folder, 30)
    root.table.create_checkpoint()
    root.drained(passes=False)
    root.maintain()
    newest = [("a", 2, "insert"), ("b", 2, "insert")]
    assert root.feed(passed) == sorted(feed + newest)
    root.moved(judged=2, judged_table_version=root.version)
    root.publish()
    root.publish()
    age(root.folder, 9)
    root.drained()
    root.maintain()
    assert not list((root.place / "_change_data").glob("*.parquet")), "once they have passed"


def test_what_a_table_keeps_longer_by_its_own_setting_is_kept(root):
    root.began(0, 0, 0)
    old = root.version
    root.table.alter.set_table_properties(
        {"delta.deletedFileRetentionDuration": "interval 30 days"}
    )
    root.maintain()
    age(root.folder, 20)
    for _ in range(3):
        root.drained()
    root.maintain()
    assert len(root.rows(old - 1)) == 4


def test_checksums_that_hadoop_wrote_go_with_their_files(root):
    root.began(0)
    kept, gone = (root.place / f".{name}.crc" for name in ("here.parquet", "gone.parquet"))
    (root.place / "here.parquet").touch()
    for path in (kept, gone):
        path.touch()
    root.maintain()
    assert gone.exists(), "it may be of a write that has begun"
    age(root.folder, 8)
    (root.place / "here.parquet").touch()
    root.maintain()
    assert (kept.exists(), gone.exists()) == (True, False)


def test_beside_a_run_it_is_refused_by_its_name_and_the_next_pipeline_maintained(root, monkeypatch):
    root.began(0, 0)
    intent = maintain(SPEC, root.settings)
    with lease(root.paths.lease, "run-7"), fails(LeaseHeld, "held_by_drain", holder=has("run-7")):
        intent.execute()
    assert count(root.place) == 2
    monkeypatch.setenv("SLUICE_ROOT", str(root.folder))
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    busy = SPEC.model_copy(update={"name": "busy"})
    specs = {SPEC.name: SPEC, "busy": busy}
    monkeypatch.setattr("spark_jobs.registry.find.names", lambda: ["busy", SPEC.name])
    monkeypatch.setattr("spark_jobs.registry.find.load", specs.__getitem__)
    Paths(str(root.folder), busy).ensure_writable()
    for run in ("a", "b"):
        ops_tables.append(root.paths.root, "runs", [{"pipeline": "busy", "run_id": run}])
    with lease(Paths(str(root.folder), busy).lease, "run-8"):
        done = CliRunner().invoke(app, ["maintain", "--execute"])
    assert done.exit_code == LeaseHeld.exit_status
    assert "busy: LEASE_HELD" in " ".join(done.output.split())
    assert count(root.place) == 1


def test_cut_off_behind_any_step_it_loses_nothing_and_is_completed_later(root, monkeypatch):
    root.began(900, 800, 1, 0)
    needed = root.rows(), root.ops("quarantine"), root.ops("batches")[-2:]
    steps, cut = maintained._steps, 0  # noqa: SLF001 - where it is cut off

    def cut_off(*arguments: Any) -> Any:
        yield from islice(steps(*arguments), 1)
        raise KeyboardInterrupt

    while (intent := maintain(SPEC, root.settings)).execute:
        with monkeypatch.context() as killed:
            killed.setattr(maintained, "_steps", cut_off)
            with pytest.raises(KeyboardInterrupt):
                intent.execute()
        cut += 1
        assert (root.rows(), root.ops("quarantine"), root.ops("batches")[-2:]) == needed
    assert cut > 6
    assert root.ops("batches") == ["run-2", "run-3"], "publish may still tell of both"


def test_history_that_has_expired_goes_and_the_cursor_can_still_be_made_from_what_stays(root):
    root.began(900, 800, 700, 30, 0)
    before = read_cursor(root.paths.cursor)
    age(root.folder / "reports", 0)
    root.maintain()
    assert root.ops("batches") == ["run-3", "run-4"]
    assert root.ops("runs") == root.ops("checks") == ["run-3", "run-4"]
    assert root.ops("late") == root.ops("quarantine") == [f"run-{n}" for n in range(5)]
    root.paths.cursor.write_text("torn")
    doctor(SPEC, root.settings).execute()
    again = read_cursor(root.paths.cursor)
    same = {"audited", "judged", "judged_table_version", "table_version", "last_event_time"}
    assert again.model_dump(include=same) == before.model_dump(include=same)


def test_what_has_not_passed_or_is_not_published_stays_however_old(root):
    root.began(900)
    root.drained(at=NOW - timedelta(days=850), publishes=False, everywhere=True)
    root.drained(at=NOW - timedelta(days=800), passes=False, everywhere=True)
    everything = {name: root.ops(name) for name in OF_RUNS}
    root.maintain()
    assert {name: root.ops(name) for name in ("batches", "late", "quarantine")} == {
        name: everything[name] for name in ("batches", "late", "quarantine")
    }
    assert root.ops("runs") == ["run-1", "run-2"], "the last that passed, and what came after"
    assert root.ops("checks") == ["run-2"], "those of the last run"


def test_the_batch_with_the_newest_event_stays_for_the_cursor(root):
    root.began(900)
    path = str(root.folder / "ops" / "batches")
    deltalake.DeltaTable(path).update(
        updates={"last_event_time": f"'{NOW.isoformat()}'"}, predicate="batch_id = 0"
    )
    for days in (800, 700, 600):
        root.drained(at=NOW - timedelta(days=days))
    root.maintain()
    assert root.ops("batches") == ["run-0", "run-2", "run-3"]


def test_a_persons_decision_stays_for_ever(root):
    root.began(900, 800, 700)
    decided = {
        "pipeline": SPEC.name,
        "run_id": "accepted by ana",
        "checked_at": NOW - timedelta(days=850),
        "outcome": "accepted",
    }
    ops_tables.append(root.paths.root, "checks", [decided])
    root.maintain()
    assert root.ops("checks") == ["accepted by ana", "run-2"]


def test_rejected_records_go_only_if_a_setting_says_so_by_when_they_were_rejected(tmp_path):
    root = Root(tmp_path / "root", rejected_days="100")
    root.began(900, 150, 120, 30, 0)
    root.maintain()
    assert root.ops("late") == root.ops("quarantine") == ["run-3", "run-4"]
    assert root.ops("batches") == ["run-1", "run-2", "run-3", "run-4"]


def test_what_a_repair_found_bad_is_kept_from_when_it_found_it(tmp_path):
    root = Root(tmp_path / "root", rejected_days="100")
    root.began(900, 150, 120, 30, 0)
    found = {"pipeline": SPEC.name, "generation": "g", "batch_id": 0, "kind": "malformed"}
    for days in (110, 30):
        row = found | {"run_id": f"stage-{days}", "planned_at": NOW - timedelta(days=days)}
        ops_tables.append(root.paths.root, "quarantine", [row])
    root.maintain()
    assert root.ops("quarantine") == ["run-3", "run-4", "stage-30"]


def test_bytes_of_records_that_a_killed_stage_left_go_after_a_day(root):
    root.began(0)
    staging = root.paths.staging("r1")
    for folder, days in (("r1", 2), ("r2", 0)):
        of_one = Path(str(root.paths.staging(folder)))
        (of_one / "records").mkdir(parents=True)
        (of_one / "records" / "late.parquet").write_bytes(b"{}")
        (of_one / "plan.json").write_text("{}")
        at = (datetime.now(UTC) - timedelta(days=days)).timestamp()
        os.utime(of_one / "plan.json", (at, at))
    assert any("1 staging folders of repairs" in line for line in root.maintain())
    assert [each.name for each in root.paths.stagings.iterdir()] == ["r2"]
    assert not staging.exists()


def test_rejected_records_of_batches_that_may_still_be_judged_stay(tmp_path):
    root = Root(tmp_path / "root", rejected_days="100")
    root.began(900, 850, 800)
    root.drained(at=NOW - timedelta(days=700), passes=False, everywhere=True)
    root.maintain()
    assert root.ops("late") == root.ops("quarantine") == ["run-1", "run-2", "run-3"]


def test_slices_take_in_the_times_of_late_records_whose_rows_expire(tmp_path):
    """They left these records out because their bytes were in ops.late."""
    root = Root(tmp_path / "root", rejected_days="100")
    root.began(900, 150, 120, 30, 0)
    names = "batch_id, first_event_time, last_event_time, late, first_late_time, last_late_time"
    before = root.ops("slices", names)
    assert (
        "let 3 slices have the times of their late records, whose rows have expired"
        in root.maintain()
    )
    assert root.ops("slices", names) == [
        *((batch, LONG_AGO, last, 0, None, None) for batch, _, last, *_ in before[:3]),
        *before[3:],
    ]
    assert not any("slices" in line for line in maintain(SPEC, root.settings).lines)


def test_slices_of_the_checkpoints_batches_never_expire_and_those_of_a_former_one_do(root):
    """An archive may have the records for longer than ops.batches has the batch."""
    root.began(900, 800, 700)
    at = {"generation": "former", "audited_at": NOW - timedelta(days=900)}
    for batch in range(2):
        former = {"pipeline": SPEC.name, "generation": "former", "batch_id": batch, "run_id": "old"}
        ops_tables.append(root.paths.root, "slices", [former])
        ops_tables.append(root.paths.root, "batches", [former | at])
    root.maintain()
    assert root.ops("batches") == ["run-1", "run-2"]
    assert root.ops("slices") == ["run-0", "run-1", "run-2"]


def test_kept_for_ever_means_that_nothing_goes(tmp_path):
    root = Root(tmp_path / "root", history_days="forever")
    root.began(9000, 8000, 7000)
    age(root.folder / "reports", 9000)
    root.maintain()
    assert {tuple(root.ops(name)) for name in OF_RUNS} == {("run-0", "run-1", "run-2")}
    assert len(list((root.folder / "reports" / SPEC.name).iterdir())) == 3


def test_reports_that_have_expired_go_and_nobody_elses(root):
    root.began(0)
    age(root.folder / "reports", 401)
    root.drained()
    other = root.folder / "reports" / "other" / "old.json"
    other.parent.mkdir()
    other.touch()
    age(other.parent, 500)
    root.maintain()
    assert [path.name for path in (root.folder / "reports" / SPEC.name).iterdir()] == ["run-1.json"]
    assert other.exists()


def test_rows_of_another_pipeline_are_not_touched(root):
    old = {"pipeline": "other", "generation": "g", "audited_at": NOW - timedelta(days=900)}
    root.began(900, 800, 700)
    for batch in range(2):
        ops_tables.append(root.paths.root, "batches", [old | {"batch_id": batch}])
    assert "join 4 small files of ops.batches" not in root.maintain()
    assert root.ops("batches", "pipeline, batch_id") == [
        ("other", 0),
        ("other", 1),
        (SPEC.name, 1),
        (SPEC.name, 2),
    ]


def test_ops_tables_are_compacted_beside_writers_of_other_pipelines(root, tmp_path):
    root.began(0, 0, 0)
    enough = tmp_path / "enough"
    command = [sys.executable, "-c", WRITER, str(root.folder), str(enough)]
    with subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        try:
            assert writer.stdout.readline() == "0\n"  # it writes
            root.drained()
            root.maintain()
            maintain_ops(root.settings).execute()
            assert writer.poll() is None
            enough.touch()
            written = len(writer.stdout.readlines()) + 1
        finally:
            if not enough.exists():
                writer.kill()
    assert writer.returncode == 0
    batches = root.ops("batches", "pipeline, batch_id")
    assert sorted(batches) == [("other", n) for n in range(written)] + [
        (SPEC.name, n) for n in range(root.batches)
    ]


WRITER = """
import itertools
import os
import sys
import time
from upath import UPath
from spark_jobs.ops import ops_tables
from spark_jobs.table.shared.table import CHECKPOINTS
for batch in itertools.count():
    ops_tables.append(UPath(sys.argv[1]), "batches", [{"pipeline": "other", "batch_id": batch}])
    ops_tables.remove(UPath(sys.argv[1]), "batches", f"pipeline = 'other' AND batch_id = {batch}")
    ops_tables.append(UPath(sys.argv[1]), "batches", [{"pipeline": "other", "batch_id": batch}])
    print(batch, flush=True)
    if os.path.exists(sys.argv[2]):
        break
"""


def test_the_log_of_an_ops_table_is_read_from_its_newest_checkpoint(root):
    root.began(0, 0, 0)
    maintain_ops(root.settings).execute()
    log = root.folder / "ops" / "batches" / "_delta_log"
    assert json.loads((log / "_last_checkpoint").read_text())["version"] == 3
    assert len(root.ops("batches")) == 3


def test_contents_of_files_beside_streams_go_once_no_note_names_them(root):
    root.began(0, 0)
    old = time.time() - 8 * 86_400
    kept = [root.folder / "sides" / f"{name}.csv" for name in ("read", "staged", "gone", "young")]
    kept[0].parent.mkdir()
    for path in kept:
        path.write_text("a")
        if path.stem != "young":
            os.utime(path, (old, old))
    pins = [Pins(inputs={"of": Pin(table_id=name, version=0)}) for name in ("read", "staged")]
    note = root.folder / "checkpoints" / "other" / "v1" / "spark-1" / "inputs" / "7"
    plan = root.folder / "staging" / "other" / "a-repair" / "plan.json"
    for path, of in zip((note, plan), pins, strict=True):
        path.parent.mkdir(parents=True)
        path.write_text(of.model_dump_json())
    note.with_name("9").write_text("{")
    maintain_ops(root.settings).execute()
    assert all(path.exists() for path in kept), "a torn note may name any"
    note.with_name("9").unlink()
    intent = maintain_ops(root.settings)
    assert "remove 1 contents of files beside streams, read no more" in intent.lines
    intent.execute()
    assert [path.stem for path in kept if path.exists()] == ["read", "staged", "young"]


def test_an_ops_table_of_an_older_sluice_has_checkpoints_as_often_as_a_new_one(root):
    root.began(0, 0, 0)
    path = root.folder / "ops" / "batches"
    older = deltalake.DeltaTable(path)
    older.alter.set_table_properties({"delta.checkpointInterval": "100"})
    for _ in range(2):  # the second time there is nothing to change
        maintain_ops(root.settings).execute()
        found = deltalake.DeltaTable(path)
        assert found.metadata().configuration == CHECKPOINTS
        assert found.version() == 5
    assert len(root.ops("batches")) == 3


@pytest.mark.parametrize(
    ("protocol", "configuration"),
    [
        ({"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}, {}),
        ({"readerFeatures": [], "writerFeatures": ["clustering", "domainMetadata"]}, {}),
        ({"readerFeatures": [], "writerFeatures": []}, {"delta.columnMapping.mode": "name"}),
    ],
    ids=["deletion vectors", "clustering", "column mapping"],
)
def test_a_table_with_a_feature_of_spark_alone_is_refused_in_words_after_all_else_is_done(
    root, protocol, configuration
):
    root.began(0, 0)
    log = root.place / "_delta_log"
    first = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    [metadata] = [action for action in first if "metaData" in action]
    metadata["metaData"]["configuration"] |= configuration
    actions = [{"protocol": {"minReaderVersion": 3, "minWriterVersion": 7} | protocol}, metadata]
    (log / f"{root.version + 1:020}.json").write_text("\n".join(map(json.dumps, actions)))
    there = files(root.place)
    intent = maintain(SPEC, root.settings)
    assert "MAINTENANCE_REFUSED" in intent.lines[-1]
    with fails(MaintenanceRefused, "needs_spark", sql=f"delta.`{root.place}`"):
        intent.execute()
    assert (files(root.place), count(root.folder / "ops" / "batches")) == (there, 1)


def test_a_table_that_another_changes_meanwhile_is_left_as_that_one_made_it(root, monkeypatch):
    root.began(0, 0)
    opened = compaction.door.open_table

    def overtaken(path: Any) -> deltalake.DeltaTable:
        """Opened, and then somebody deletes from it."""
        table = opened(path)
        if str(path) == str(root.place) and overtaking.pop("now", None):
            deltalake.DeltaTable(str(path)).delete("n = 0")
        return table

    overtaking: dict[str, bool] = {}
    intent = maintain(SPEC, root.settings)
    compact = compaction.compact

    def beside_a_delete(path: Any, partition: Any = None, **how: Any) -> int:
        overtaking["now"] = partition is None
        return compact(path, partition, **how)

    monkeypatch.setattr(compaction, "compact", beside_a_delete)
    monkeypatch.setattr(compaction.door, "open_table", overtaken)
    with fails(TableContended, "changed_meanwhile"):
        intent.execute()
    assert root.rows() == [("a", 1), ("b", 1)]


def test_a_pipeline_that_never_ran_has_nothing_to_do_and_gets_no_folder(tmp_path):
    settings = Settings(str(tmp_path / "root"), "broker:9092", tmp_path, "local[1]", "1g")
    assert maintain(SPEC, settings).execute is None
    assert maintain_ops(settings).execute is None
    assert not (tmp_path / "root").exists()
