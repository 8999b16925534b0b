"""Each command of `sluice` over a root that one real `sluice drain` has filled."""

import csv
import io
import re
import runpy
import subprocess
from pathlib import Path
from typing import NamedTuple

import deltalake
import pytest

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.draft import sample
from spark_jobs.errors import StateUnreadable, TopicMissing
from spark_jobs.launch import java_options
from spark_jobs.messages.report import Report, read_report
from spark_jobs.runs.plan import NOTHING_TO_DO
from spark_jobs.settings.installation import Settings
from tests.e2e import pipelines
from tests.harness.command import answer, sluice, sluice_here, undone
from tests.harness.long_form import LONG, long_form
from tests.harness.patience import patient
from tests.harness.refused import fails
from tests.harness.scene import Scene
from tests.harness.turns import held_by

held = held_by(
    *("unit/test_cli.py", "unit/test_rewind.py", "unit/test_doctor.py", "spark/test_preview.py"),
    *("spark/test_explain.py", "unit/test_new.py"),
)
PIPELINE = "flight_events"
PATIENCE_SECONDS = patient(240)
ARCHIVED = "source: shared objects file (top)"
MOST_OF_THEM = 5_000
"""Classes that a drain loads from there."""


class Drained(NamedTuple):
    """What lies there, and what the two commands said; `classes`: where each JVM's came from."""

    scene: Scene
    sent: dict[str, int]
    planned: str
    said: str
    classes: Path

    @property
    def report(self) -> Report:
        """Of the drain, where it said that it is."""
        return read_report(Path(self.said.splitlines()[-1].removeprefix("report: ")))

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One more command about the same root, in a process of its own."""
        return sluice(self.scene, pipelines.__name__, *words)

    def here(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One that starts no JVM; in a process of its own in the long form."""
        if LONG:
            return self.command(*words)
        variables = {"SLUICE_PIPELINES": pipelines.__name__, **self.scene.settings.environment()}
        return sluice_here(variables, *words)

    def files(self) -> dict[Path, tuple[int, int]]:
        """All that lies under the root, with size and time."""
        found = (path for path in Path(self.scene.settings.root).rglob("*") if path.is_file())
        return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


@pytest.fixture(scope="module")
def drained(kafka, tmp_path_factory) -> Drained:
    folder = tmp_path_factory.mktemp("commands")
    scene = Scene(kafka, folder, PIPELINE, events=2000, deliveries=1, topic="flights")
    sent = scene.deliver()
    made = Drained(scene, sent, "", "", folder)
    planned = answer(made.here("plan", PIPELINE))
    # One log a process: spark-submit starts a JVM of its own to find its command.
    logged = f"-Xlog:class+load:file={folder}/classes-%p.log"
    words = ("drain", PIPELINE, "--run-id", "by-hand")
    said = answer(sluice(scene, pipelines.__name__, *words, JAVA_TOOL_OPTIONS=logged))
    return made._replace(planned=planned, said=said)


def test_plan_says_what_is_new_drain_drains_it_and_then_there_is_nothing(drained):
    total = sum(drained.sent.values())
    assert f"\n{total} new offsets to read\n" in drained.planned
    assert f"{PIPELINE} succeeded: read {total:,}, " in drained.said
    assert "unaccounted 0; " in drained.said
    assert (drained.report.run_id, drained.report.account.read) == ("by-hand", total)
    drained.scene.assert_exact()

    after = answer(drained.here("plan", PIPELINE))
    assert after.splitlines()[-1] == NOTHING_TO_DO
    ends = drained.report.offsets_end
    assert all(
        f"partition {partition}: next {end}, end {end}, 0 new" in after
        for partition, end in ends.items()
    )


@held
def test_the_jvm_of_a_drain_reads_its_classes_from_the_archive(drained):
    """It leaves an archive that does not fit its class path alone, in silence."""
    logs = (log.read_text() for log in drained.classes.glob("classes-*.log"))
    archived = [line for log in logs for line in log.splitlines() if ARCHIVED in line]
    for name in (
        "io.delta.sql.DeltaSparkSessionExtension",
        "org.apache.spark.sql.kafka010.KafkaSourceProvider",
        "org.rocksdb.RocksDB",
    ):
        assert any(f" {name} " in line for line in archived), (
            f"{name} was not read from {java_options.archive(Settings.from_environment())}"
        )
    assert len(archived) > MOST_OF_THEM


def test_drain_where_there_is_nothing_to_do_starts_no_jvm_and_writes_nothing(drained):
    before = drained.files()
    assert "nothing to do" in answer(drained.here("drain", PIPELINE))
    assert drained.files() == before


@held
def test_new_drafts_from_the_topic_what_decodes_its_records(drained, tmp_path):
    said = answer(drained.here("new", "drafted", "--topic", "flights", "--into", str(tmp_path)))
    account = drained.report.account
    assert f" of {sum(drained.sent.values()):,} records are good" in said
    spec = runpy.run_path(str(tmp_path / "drafted" / "spec.py"))["SPEC"]
    assert (spec.topic.event_time, spec.steps[0].keys) == ("event_time", ("event_id",))
    assert {f.name for f in spec.topic.fields} == {f.name for f in drained.scene.spec.topic.fields}
    good = int(re.search(r"([\d,]+) of [\d,]+ records are good", said)[1].replace(",", ""))
    assert abs(good - (account.read - account.malformed)) <= account.malformed


@held
def test_a_sample_of_few_bytes_has_the_newest_records(drained, monkeypatch):
    monkeypatch.setattr(sample, "MOST_BYTES", 40_000)
    found = sample.of_topic(drained.scene.settings, "flights", 10**6)
    assert 20_000 < sum(len(each.value or b"") for each in found) < 100_000
    ends = {each.partition: each.offset + 1 for each in found}
    share = 0.9  # records differ a little in their sizes
    for partition, end in drained.report.offsets_end.items():
        of_it = [each.offset for each in found if each.partition == int(partition)]
        assert end - ends[int(partition)] <= (1 - share) * len(of_it) + 1


@held
def test_a_topic_that_is_missing_has_no_sample(drained):
    with fails(TopicMissing, "topic_absent", topic="nowhere"):
        sample.of_topic(drained.scene.settings, "nowhere", 9)


@held
def test_preview_says_of_the_records_what_the_drain_said_and_writes_nothing(drained):
    before = drained.files()
    said = answer(drained.command("preview", PIPELINE))
    account = drained.report.account
    entered = account.accepted + account.late  # in the one batch of a preview none is late
    wanted = {"accepted": entered, "malformed": account.malformed}
    wanted |= {"premature": account.premature, "duplicates": account.duplicates}
    told = next(line for line in said.splitlines() if line.startswith("accepted "))
    counts = dict(each.rsplit(" ", 1) for each in told.split(", "))
    assert {name: int(count.replace(",", "")) for name, count in counts.items()} == wanted
    rows = entered - account.duplicates
    assert f"{sum(drained.sent.values()):,} records, {rows:,} rows" in said
    assert drained.files() == before


def test_run_publishes_what_has_passed_also_where_nothing_is_new(drained):
    assert ": event 1, " in answer(drained.here("run", PIPELINE))
    paths = drained.scene.paths
    shown = deltalake.DeltaTable(str(paths.published_table)).to_pyarrow_table()
    assert shown.num_rows == drained.report.account.rows_out > 0
    assert ": event " not in answer(drained.here("run", PIPELINE))


@pytest.mark.parametrize(
    "table",
    [
        "batches",
        "late",
        *(pytest.param(each, marks=long_form) for each in ("runs", "operators", "quarantine", "checks")),
    ],
)  # fmt: skip
def test_show_shows_as_many_rows_as_there_are(drained, table):
    account = drained.report.account
    batches = len(drained.report.batches)
    wanted = {
        "runs": 1,
        "batches": batches,
        "operators": batches,
        "late": account.late,
        "quarantine": account.malformed + account.premature,
        "checks": len(drained.report.checks),
    }[table]
    words = ("show", table, PIPELINE, "--limit", "10000")
    assert answer(drained.here(*words)).startswith(f"{table}, newest first, of {PIPELINE}")
    rows = answer(drained.here(*words, "--format", "csv"))
    assert [row["pipeline"] for row in csv.DictReader(io.StringIO(rows))] == [PIPELINE] * wanted
    assert wanted > 0 or table == "late"


@long_form
@held
def test_explain_prints_sparks_plan_and_what_evicts_the_state(drained):
    told = answer(drained.command("explain", PIPELINE))
    assert "StreamingDeduplicateWithinWatermark" in told
    assert "step 1, deduplicate: " in told


@held
def test_doctor_finds_a_whole_checkpoint_whole_and_leaves_it(drained):
    before = drained.files()
    assert (
        answer(drained.here("doctor", PIPELINE, "--execute"))
        .splitlines()[-1]
        .startswith("nothing to fix: ")
    )
    assert drained.files() == before


@held
def test_reset_without_execute_says_what_it_would_leave_and_changes_nothing(drained):
    before = drained.files()
    told = undone(drained.here("reset", PIPELINE))
    assert f"leave {drained.scene.paths.version} and {drained.scene.paths.table}" in told
    assert told.splitlines()[-1] == "nothing is done yet: add --execute"
    assert drained.files() == before


@held
def test_rewind_to_a_batch_that_there_is_not_says_which_there_are(drained):
    done = drained.here("rewind", PIPELINE, "--to-batch", "99")
    assert done.returncode == StateUnreadable.exit_status
    [line] = done.stderr.splitlines()
    assert line.startswith(f"{StateUnreadable.code} ")
    assert f"batches 0 to {max(drained.report.batches)}." in line


@held
def test_rewind_shows_first_and_with_execute_goes_back_to_the_batch(drained):
    """The last of this module: it takes away what the others look at."""
    checkpoint = Checkpoint(drained.scene.paths.checkpoint)
    before = drained.files()
    report = drained.report
    end = checkpoint.batch(0).end.by_partition
    assert len(report.batches) > 2

    shown = undone(drained.here("rewind", PIPELINE, "--to-batch", "0"))
    assert f"leave batches {list(report.batches[1:])} there" in shown
    assert shown.splitlines()[-1] == "nothing is done yet: add --execute"
    assert drained.files() == before

    assert (
        answer(drained.here("rewind", PIPELINE, "--to-batch", "0", "--execute")).splitlines()[-1]
        == "done"
    )
    assert Checkpoint(drained.scene.paths.checkpoint).committed() == [0]
    assert [row["batch_id"] for row in drained.scene.ops("batches")] == [0]
    waiting = sum(report.offsets_end.values()) - sum(end.values())
    assert f"\n{waiting} new offsets to read\n" in answer(drained.here("plan", PIPELINE))


@held
def test_validate_deep_lets_spark_plan_the_query(drained):
    last = answer(drained.command("validate", PIPELINE, "--deep")).splitlines()[-1]
    assert last.startswith(f"ok  {PIPELINE}: event_id string, event_type string, event_time ")
