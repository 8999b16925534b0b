"""The archive of a topic, without Spark: declaration, name, content, and who reads it."""

import json
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from pyspark.sql.types import StructType
from typer.testing import CliRunner
from upath import UPath

from spark_jobs.admin import care
from spark_jobs.admin.care import kept_steps
from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.maintain import maintain
from spark_jobs.admin.reset import reset
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.notes.removed import Removed, note_removed, read_removed
from spark_jobs.cli import app
from spark_jobs.errors import (
    CheckpointBroken,
    CheckpointForeign,
    LeaseLost,
    PipelineUnknown,
    SpecInvalid,
)
from spark_jobs.journal.runner import leased
from spark_jobs.ops.schema import HEADERS
from spark_jobs.registry import find as registry
from spark_jobs.registry.archive_spec import (
    ADDED_TO_ARCHIVES,
    COLUMNS,
    PARTITIONED_BY,
    RELEASED,
    archive_spec,
)
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.repair.offsets.archived import archived, archived_or_why, located
from spark_jobs.runs import plan as planning
from spark_jobs.runs.account.overtaken import note_overtaken, overtaken
from spark_jobs.runs.lag import lag_lines
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Parts, Positions
from spark_jobs.spec import Archive, Field
from spark_jobs.spec.analysis.ranged import unranged
from spark_jobs.spec.analysis.state_checks import state_checks_of
from spark_jobs.spec.archive import archive_name
from spark_jobs.spec.inputs import Topics
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta.table import Delta
from tests.harness import roots
from tests.harness.refused import fails, has
from tests.harness.sources import says
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.specs import FIELDS, pipeline, topic

TOPIC = topic(archive=Archive(keep="30 days"))
SPEC = archive_spec(TOPIC, Archive(keep="30 days"))
NOW = datetime.now(UTC)
SCHEMA = pa.schema(
    [
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("kafka_timestamp", pa.timestamp("us", "UTC")),
        ("kafka_millis", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", HEADERS),
        ("event_time", pa.timestamp("us", "UTC")),
        ("event_date", pa.date32()),
    ]
)
STRUCT = json.loads(deltalake.Schema.from_arrow(SCHEMA).to_json())
SPECS = """
from spark_jobs.spec import Archive, Pipeline, Transform
from spark_jobs.topics.flights import FLIGHTS
TOPIC = FLIGHTS.model_copy(update={{"archive": {archive}}})
SPEC = Pipeline(name={name!r}, about="x", topic=TOPIC, steps=(Transform(where="true"),))
"""


def declare(folder: Path, name: str, archive: str = "Archive()") -> None:
    (folder / name).mkdir()
    (folder / name / "spec.py").write_text(SPECS.format(name=name, archive=archive))


class Root(roots.Root):
    """A root with an archive as its drains leave it: batch n has offset n of partition 0."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, SPEC)
        self.folder = begin(Path(str(self.paths.checkpoint)), {0: 0}, "sales")
        self.begin("g1", "topic-1")

    def begin(self, generation: str, topic_id: str) -> None:
        self.paths.ensure_writable()
        Delta(self.paths.table).ensure(columns(), SPEC, generation)
        made = fingerprint(SPEC, version("pyspark"))
        self.identified(generation, topic_id=topic_id, fingerprint=made)

    def batches(self, days_old: list[int]) -> None:
        for batch, days in enumerate(days_old):
            plan_batch(self.folder, batch, {0: batch + 1}, topic="sales")
            commit_batch(self.folder, batch)
            row = {"pipeline": SPEC.name, "generation": "g1", "batch_id": batch}
            ends = {"offsets_start": {0: batch}, "offsets_end": {0: batch + 1}}
            self.put("batches", row | {name: json.dumps(end) for name, end in ends.items()})
            self.append("topic-1", batch, NOW - timedelta(days=days))
        Cursor(audited=len(days_old) - 1, judged=len(days_old) - 1).write(self.paths.cursor)

    def append(self, topic_id: str, offset: int, at: datetime | None) -> None:
        row = {"topic_id": topic_id, "partition": 0, "offset": offset, "kafka_timestamp": at}
        row |= {"key": None, "value": b"{}", "event_time": at, "event_date": at and at.date()}
        deltalake.write_deltalake(
            str(self.paths.table), pa.Table.from_pylist([row], SCHEMA), mode="append"
        )

    @property
    def has(self) -> Parts:
        return archived(self.paths.root, Topics([TOPIC]), "topic-1")

    @property
    def offsets(self) -> list[tuple[str, int]]:
        rows = deltalake.DeltaTable(str(self.paths.table)).to_pyarrow_table().to_pylist()
        return sorted((row["topic_id"], row["offset"]) for row in rows)


def columns() -> StructType:
    return StructType.fromJson(STRUCT)


def test_an_older_sluices_archive_gets_the_columns_that_it_lacks(tmp_path):
    place = UPath(tmp_path / "archive")
    before = pa.schema([each for each in SCHEMA if each.name not in ADDED_TO_ARCHIVES])
    configuration = {"sluice.generation": "g1"}
    deltalake.DeltaTable.create(
        str(place), before, configuration=configuration, raise_if_key_not_exists=False
    )
    for _ in range(2):
        Delta(place).ensure(columns(), SPEC, "g1")
    assert {field.name for field in deltalake.DeltaTable(str(place)).schema().fields} == {*COLUMNS}


def test_what_has_no_time_is_never_old(tmp_path):
    """A producer that stamps microseconds: how old its records are nobody knows."""
    root = Root(tmp_path)
    for offset, days in enumerate([90, None, 90]):
        root.append("topic-1", offset, None if days is None else NOW - timedelta(days=days))
    root.append("topic-1", 3, datetime(9999, 1, 1, tzinfo=UTC))
    with lease(root.paths.lease, "maintain") as held:
        for _, do in kept_steps(root.paths, NOW - timedelta(days=30)):
            do(held)
    assert root.offsets == [("topic-1", offset) for offset in (1, 2, 3)]


def test_an_archive_is_a_pipeline_of_the_records_themselves():
    assert (SPEC.name, SPEC.is_archive, SPEC.steps) == ("archive__sales", True, ())
    assert tuple(SCHEMA.names) == COLUMNS
    assert Paths("/r", SPEC).table.parts[-2:] == ("archive", "sales")
    assert Paths("/r", SPEC).checkpoint.parts[-3:] == ("archive__sales", "v1", "spark")
    assert "archive_lag" in {check.columns[0] for check in state_checks_of(SPEC)}
    assert "archive_lag" not in {check.columns[0] for check in state_checks_of(pipeline())}
    assert unranged(SPEC) == "an archive has the records themselves, and computes nothing"


def test_other_fields_of_the_topic_may_change_while_its_archive_goes_on():
    more = topic(fields=(*FIELDS, Field(name="more", type="int")))
    assert fingerprint(archive_spec(more, Archive()), "4.2.0") == fingerprint(SPEC, "4.2.0")


@given(
    st.sampled_from(["a.b", "a-b", "a_b", "A_b", "x" * 249, "x" * 248 + "y", "x" * 54, "x" * 55])
)
def test_the_name_of_an_archive_is_one_of_a_pipeline_and_no_two_topics_share_it(name):
    assert archive_spec(topic(name=name), Archive()).name == archive_name(name)
    others = {"a.b", "a-b", "a_b", "A_b", "x" * 249, "x" * 248 + "y"} - {name}
    assert archive_name(name) not in set(map(archive_name, others))


@pytest.mark.parametrize(
    "declared", [{"every": "hourly"}, {"keep": "1 hour"}, {"keep": "soon"}, {"kept": "1 day"}]
)
def test_a_wrong_declaration_is_refused_by_field(declared):
    with fails(SpecInvalid, "fields_refused", fields=", ".join(declared)):
        Archive(**declared)


def test_the_registry_finds_the_archives_that_topics_declare_and_a_bad_spec_hides_none(folder):
    declare(folder, "none", "None")
    assert registry.archives() == []
    declare(folder, "one")
    declare(folder, "other")
    (folder / "broken").mkdir()
    (folder / "broken" / "spec.py").write_text("1 / 0")
    assert registry.archives() == ["archive__flights"]
    assert registry.load("archive__flights").topic.columns == ("event_time",)
    assert "archive__flights" not in registry.names()
    with fails(PipelineUnknown, "archive_absent", archives=has("archive__flights")):
        registry.load("archive__clicks")


def test_a_topic_with_two_archives_and_a_folder_of_an_archives_name_are_refused(folder):
    declare(folder, "one")
    declare(folder, "two", "Archive(keep=None)")
    with fails(SpecInvalid, "topic_declared_twice"):
        registry.load("archive__flights")
    declare(folder, "archive__flights")
    with fails(SpecInvalid, "name_reserved"):
        registry.load("archive__flights")


def test_the_command_for_a_topic_without_an_archive_says_how_to_declare_one(folder):
    declare(folder, "none", "None")
    result = CliRunner().invoke(app, ["archive", "flights"])
    assert result.exit_code != 0
    assert "archive=Archive()" in result.output + result.stderr
    declare(folder, "one")
    assert "every record" in CliRunner().invoke(app, ["validate"]).output


RANGES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair))),
    max_size=4,
)


@given(parts=RANGES, has=RANGES, earliest=st.integers(0, 50))
def test_each_offset_is_read_from_the_archive_else_from_kafka_else_is_nowhere(parts, has, earliest):
    wanted, ours = (
        Removed().and_({0: ranges}).offsets for ranges in (parts, has)
    )  # ascending, none of which touches another
    found = located(wanted, ours, Positions({0: earliest}))
    every, kept = numbers(wanted), numbers(ours)
    assert numbers(found.archive) == every & kept
    assert numbers(found.source) == {at for at in every - kept if at >= earliest}
    assert numbers(found.nowhere) == {at for at in every - kept if at < earliest}
    assert numbers(wanted) == {at for first, stop in parts for at in range(first, stop)}


def numbers(parts: Parts) -> set[int]:
    return {at for ranges in parts.values() for first, stop in ranges for at in range(first, stop)}


def test_an_archive_has_what_its_batches_cover_less_what_was_removed(tmp_path):
    assert archived(Paths(str(tmp_path), SPEC).root, Topics([TOPIC]), "topic-1") == {}
    root = Root(tmp_path)
    root.batches([9, 5, 2, 1])
    assert root.has == {0: ((0, 4),)}
    with lease(root.paths.lease, "a drain") as held:
        note_removed(root.paths, {0: [(1, 3)]}, held)
        assert root.has == {0: ((0, 1), (3, 4))}
        note_removed(root.paths, {0: [(0, 1)]}, held)
    assert (root.has, read_removed(root.paths).offsets) == ({0: ((3, 4),)}, {0: ((0, 3),)})
    assert archived(root.paths.root, Topics([TOPIC]), "topic-2") == {}
    root.paths.removed.write_text("{")
    with fails(CheckpointBroken, "removals_unreadable"):
        archived(root.paths.root, Topics([TOPIC]), "topic-1")
    has, why = archived_or_why(root.paths.root, Topics([TOPIC]), "topic-1")
    assert has == {}
    assert "sluice reset archive__sales" in str(why)
    with fails(CheckpointBroken, "removals_unreadable"):
        doctor(SPEC, root.settings)
    (root.paths.checkpoint / "offsets" / "4").write_text("")
    execute = doctor(SPEC, root.settings).execute
    assert execute is not None
    with fails(CheckpointBroken, "removals_unreadable"):
        execute()  # the entry is set aside, and that is not all
    root.paths.removed.write_text('{"format_version": 99}')
    has, why = archived_or_why(root.paths.root, Topics([TOPIC]), "topic-1")
    assert (has, why.code if why else "") == ({}, "FORMAT_NEWER")


def test_what_retention_took_during_a_batch_is_what_neither_kafka_nor_the_table_has(tmp_path):
    root = Root(tmp_path)
    root.batches([1, 1])
    for offset in (4, 5, 8):  # Spark had read these before they went
        root.append("topic-1", offset, NOW)
    root.append("topic-2", 3, NOW)
    batch = Batch(2, Positions({0: 2}), Positions({0: 12, 1: 5}), 0, 0)
    assert overtaken(Delta(root.paths.table), "topic-1", batch, Positions({0: 2, 1: 0})) == {}
    assert overtaken(Delta(root.paths.table), "topic-1", batch, Positions({0: 9, 1: 0})) == {
        0: ((2, 4), (6, 8))
    }
    with lease(root.paths.lease, "a drain") as held:
        lacks = note_overtaken(root.paths, "topic-1", batch, Positions({0: 99, 1: 3}), held)
    assert lacks == 2 + 2 + 3 + 3
    assert read_removed(root.paths).offsets == {0: ((2, 4), (6, 8), (9, 12)), 1: ((0, 3),)}


def test_doctor_repairs_what_else_is_damaged_where_removed_json_is_broken(tmp_path):
    root = Root(tmp_path)
    plan_batch(root.folder, 0, {0: 1}, topic="sales")
    for path in (root.paths.removed, root.paths.failing):
        path.write_text("{")
    lines, execute = doctor(SPEC, root.settings)
    assert "failing.json to" in "".join(lines)
    assert lines[-1].startswith("not fixed: CHECKPOINT_BROKEN")
    with fails(CheckpointBroken, "removals_unreadable"):
        execute()  # what is done is not all
    assert not root.paths.failing.exists()
    with fails(CheckpointBroken, "removals_unreadable"):
        doctor(SPEC, root.settings)


@pytest.mark.parametrize(("earliest", "warned"), [(0, False), (1, False), (3, True)])
def test_its_plan_tells_how_far_it_is_behind_and_warns_before_retention_overtakes_it(
    tmp_path, monkeypatch, earliest, warned
):
    root = Root(tmp_path)
    root.batches([4, 3, 2, 1])
    state = SourceState("topic-1", Positions({0: earliest}), Positions({0: 7}))
    says(monkeypatch, state)
    lines = planning.plan(SPEC, root.settings).lines
    left = 4 - earliest
    assert f"the archive is 3 offsets behind the topic; Kafka has {left} before them" in lines
    assert any("archive_lag 3.0" in line for line in lines) is warned


def test_a_partition_that_no_batch_has_read_is_behind_by_all_that_it_has():
    topic = SourceState("topic-1", Positions({0: 0, 1: 0}), Positions({0: 70, 1: 500}))
    [said] = lag_lines(topic, Positions({0: 60}))
    assert said.startswith("the archive is 510 offsets behind")
    topic = SourceState("topic-1", Positions({0: 0, 1: 30}), Positions({0: 70, 1: 500}))
    assert "archive_lag 470.0" in lag_lines(topic, Positions({0: 60}))[1]


def test_maintain_removes_the_oldest_offsets_up_to_the_first_record_to_keep(tmp_path):
    root = Root(tmp_path)
    root.batches([50, 40, 3, 90, 1])
    root.append("topic-0", 7, NOW - timedelta(days=99))
    intent = maintain(SPEC, root.settings)
    assert any("remove 3 records" in line for line in intent.lines), intent.lines
    assert len(root.offsets) == 6
    intent.execute()
    assert root.offsets == [("topic-1", 2), ("topic-1", 3), ("topic-1", 4)]
    assert root.has == {0: ((2, 5),)}
    assert not any("records" in line for line in maintain(SPEC, root.settings).lines)


def test_what_maintain_removes_is_noted_before_it_goes(tmp_path, monkeypatch):
    root = Root(tmp_path)
    root.batches([50, 3])

    def killed(*_: Any, **__: Any):
        raise KeyboardInterrupt

    intent = maintain(SPEC, root.settings)
    with monkeypatch.context() as cut:
        cut.setattr(deltalake.DeltaTable, "delete", killed)
        with pytest.raises(KeyboardInterrupt):
            intent.execute()
    assert (root.has, len(root.offsets)) == ({0: ((1, 2),)}, 2)
    again = maintain(SPEC, root.settings)
    again.execute()
    assert root.offsets == [("topic-1", 1)]


def test_joined_files_have_every_record_and_the_archives_compression(tmp_path):
    root = Root(tmp_path)
    root.batches([1, 1, 1])
    intent = maintain(SPEC, root.settings)
    intent.execute()
    assert root.offsets == [("topic-1", at) for at in range(3)]
    [file] = deltalake.DeltaTable(str(root.paths.table)).file_uris()
    assert pa.parquet.read_metadata(file).row_group(0).column(0).compression == "ZSTD"
    assert deltalake.DeltaTable(str(root.paths.table)).metadata().partition_columns == [
        *PARTITIONED_BY
    ]


@pytest.mark.parametrize("topic_id", ["topic-1", "topic-2"])
def test_a_reset_leaves_an_archives_table_only_for_another_topic(tmp_path, monkeypatch, topic_id):
    root = Root(tmp_path)
    root.batches([1])
    says(monkeypatch, SourceState(topic_id, Positions({0: 0}), Positions({0: 1})))
    with pytest.raises(CheckpointForeign):
        Delta(root.paths.table).ensure(columns(), SPEC, "g2")
    intent = reset(SPEC, root.settings)
    intent.execute()
    root.paths = Paths(root.settings.root, SPEC)
    assert not root.paths.identity.exists()
    assert root.paths.table.exists() is (topic_id == "topic-2")
    root.begin("g2", topic_id)
    assert len(root.offsets) == (topic_id == "topic-2")
    with pytest.raises(CheckpointForeign):
        Delta(root.paths.table).ensure(columns(), SPEC, "g3")


def test_who_has_outslept_the_lease_claims_no_archive_that_another_has_released(tmp_path):
    class Lost:
        def confirm(self):
            raise LeaseLost("it is another's")

    place = UPath(tmp_path / "archive")
    Delta(place).ensure(columns(), SPEC, RELEASED)
    with pytest.raises(LeaseLost):
        Delta(place).ensure(columns(), SPEC, "g2", (), Lost())
    assert Delta(place).generation() == RELEASED


def test_an_archive_with_a_broken_checkpoint_is_reset_as_its_error_says(tmp_path):
    root = Root(tmp_path)
    root.batches([1])
    root.paths.identity.write_text("{")
    with fails(CheckpointBroken, "identity_lost", pipeline="archive__sales"):
        read_identity(root.paths)
    intent = reset(SPEC, root.settings)
    intent.execute()
    root.paths = Paths(root.settings.root, SPEC)
    assert not root.paths.identity.exists()
    assert not root.paths.table.exists(), "nobody knows of which topic it is"


@pytest.mark.parametrize("place", range(4), ids=["begun", "released", "live", "removed"])
def test_an_archives_killed_reset_is_completed_by_whoever_comes_next(tmp_path, monkeypatch, place):
    root, left = Root(tmp_path), [place]
    root.batches([1])
    says(monkeypatch, SourceState("topic-2", Positions({0: 0}), Positions({0: 1})))

    def dies(_: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt

    with monkeypatch.context() as active:
        active.setattr(failpoint, "at", dies)
        with pytest.raises(KeyboardInterrupt):
            reset(SPEC, root.settings).execute()
    before, root.paths = root.paths.version, Paths(root.settings.root, SPEC)
    with leased(root.paths, "the next run"):
        assert Delta(root.paths.table).generation() == RELEASED
        assert root.paths.version != before
    root.begin("g2", "topic-2")
    root.append("topic-2", 0, NOW)
    assert root.offsets == [("topic-1", 0), ("topic-2", 0)]


def test_a_reset_leaves_a_table_with_half_a_change_that_nobody_completes(tmp_path, monkeypatch):
    """Also that of another topic, which else stays."""
    root = Root(tmp_path)
    root.batches([1])
    says(monkeypatch, SourceState("topic-2", Positions({0: 0}), Positions({0: 1})))
    root.paths.journal.write_text("{")
    (said,) = reset(SPEC, root.settings).execute()
    assert "half done" in said
    left, root.paths = root.paths.table, Paths(root.settings.root, SPEC)
    assert left.exists()
    assert root.paths.table != left


def test_maintain_never_removes_the_table_that_an_archive_had_before_a_reset(tmp_path, monkeypatch):
    """Kafka has its records no longer, and a reset is what errors of a broken archive name."""
    root = Root(tmp_path)
    root.batches([1])
    before = root.paths.table
    root.paths.identity.write_text("{")
    intent = reset(SPEC, root.settings)
    intent.execute()
    monkeypatch.setattr(care, "GRACE", timedelta(0))
    root.paths = Paths(root.settings.root, SPEC)
    root.begin("g2", "topic-1")
    intent = maintain(SPEC, root.settings)
    if intent.execute is not None:
        intent.execute()
    assert len(deltalake.DeltaTable(str(before)).to_pyarrow_table()) == 1


def test_a_second_reset_leaves_a_table_that_the_first_has_left(tmp_path, monkeypatch):
    root = Root(tmp_path)
    root.batches([1])
    says(monkeypatch, SourceState("topic-2", Positions({0: 0}), Positions({0: 1})))
    for _ in range(2):
        intent = reset(SPEC, root.settings)
        intent.execute()
    root.begin("g2", "topic-2")
    assert len(root.offsets) == 1
