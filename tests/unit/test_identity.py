"""A checkpoint's identity: when a run may resume it, and when it must not."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, Transaction, write_deltalake

from spark_jobs.checkpoint import identity
from spark_jobs.checkpoint.identity import Identity, Present, read_identity
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.standing import standing
from spark_jobs.errors import (
    CheckpointForeign,
    FormatNewer,
    OffsetsWentBack,
    RecordsGone,
    StateIncompatible,
    TopicRemade,
)
from spark_jobs.registry.fingerprint.topic import classification, with_classification
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Field, Pipeline, State
from spark_jobs.storage.root.paths import Paths
from tests.harness.refused import fails, has
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.specs import FIELDS, pipeline, topic

SPEC = pipeline()


def broker(**changes: Any) -> SourceState:
    """The topic as the broker has it."""
    return SourceState(
        **{
            "id": "topic-1",
            "earliest": Positions({0: 0, 1: 0}),
            "latest": Positions({0: 50, 1: 50}),
        }
        | changes
    )


def settled(paths: Paths, spec: Pipeline = SPEC, **changes: Any) -> Identity:
    """The identity of a run of the spec, where the topic has these changes."""
    return standing(Present(spec), paths).identity(broker(**changes))


@pytest.fixture
def paths(tmp_path) -> Paths:
    """A pipeline that has run twice: partition 0 is read up to 12, partition 1 up to 30."""
    paths = Paths(str(tmp_path), SPEC)
    paths.ensure_writable()
    settled(paths).write(paths.identity)
    Cursor().write(paths.cursor)
    folder = begin(Path(str(paths.checkpoint)))
    for batch, end in enumerate(({0: 10, 1: 10}, {0: 12, 1: 30})):
        plan_batch(folder, batch, end)
        commit_batch(folder, batch)
    return paths


def test_a_new_checkpoint_gets_a_generation_of_its_own(tmp_path):
    paths = Paths(str(tmp_path), SPEC)
    generations = {settled(paths).generation for _ in range(3)}
    assert len(generations) == 3
    assert all(generations)


def test_a_first_run_that_ended_before_its_first_batch_binds_nobody(tmp_path):
    """It may have made the table, so its generation stays; no state is there to fit a spec."""
    paths = Paths(str(tmp_path), SPEC)
    paths.ensure_writable()
    first = settled(paths)
    first.write(paths.identity)
    other = pipeline(output_mode="update", steps=SPEC.steps[1:])
    again = settled(paths, other, id="topic-2")
    assert again.generation == first.generation
    assert (again.topic_id, again.fingerprint["output_mode"]) == ("topic-2", "update")
    Cursor(audited=0).write(paths.cursor)
    with pytest.raises(CheckpointForeign):
        settled(paths)


def test_settling_writes_nothing(tmp_path):
    settled(Paths(str(tmp_path), SPEC))
    assert list(tmp_path.iterdir()) == []


def test_an_unchanged_spec_resumes_its_checkpoint_under_its_generation(paths):
    assert settled(paths) == read_identity(paths)


def test_more_records_and_more_partitions_are_no_change(paths):
    more = broker(
        earliest=Positions({0: 12, 1: 30, 2: 0}), latest=Positions({0: 900, 1: 900, 2: 900})
    )
    assert standing(Present(SPEC), paths).identity(more) == read_identity(paths)


def test_a_spec_that_the_state_does_not_fit_is_refused_with_field_old_new_and_the_ways_out(paths):
    with pytest.raises(StateIncompatible) as refused:
        settled(paths, pipeline(output_mode="update", steps=SPEC.steps[1:]))
    for said in (
        "output_mode: was 'append', is 'update'",
        "Revert the spec",
        "sluice reset sales_hourly",
        str(paths.version),
    ):
        assert said in str(refused.value)


def test_a_field_of_another_type_is_refused_with_a_rebuild_as_a_way_out(paths):
    wider = FIELDS[3].model_copy(update={"type": "decimal(20,0)"})
    told = {
        "differences": has("was 'bigint', is 'decimal(20,0)'"),
        "declare": has("NEXT in spec.py and run `sluice rebuild sales_hourly`"),
    }
    with fails(StateIncompatible, "spec_changed", **told):
        settled(paths, pipeline(topic=topic(fields=(*FIELDS[:3], wider))))


def test_another_state_version_starts_beside_the_old_one(paths):
    spec = pipeline(state=State(version=2, shuffle_partitions=4))
    other = Paths(str(paths.root), spec)
    before = read_identity(paths)
    assert settled(other, spec).generation != before.generation
    assert other.version != paths.version
    assert other.table == paths.table


def test_a_topic_made_anew_is_refused_with_both_ids(paths):
    told = {"topic": "sales", "made": "topic-1", "found": "topic-2"}
    with fails(TopicRemade, "remade_since_checkpoint", **told):
        settled(paths, id="topic-2", latest=Positions({0: 900, 1: 900}))


def test_a_topic_that_lost_its_end_is_refused_though_other_partitions_have_grown_by_as_much(paths):
    with pytest.raises(OffsetsWentBack) as refused:
        settled(paths, latest=Positions({0: 7, 1: 35}))
    for said in ("'sales'", "partition 0 ends at 7", "to 12", "sluice reset sales_hourly"):
        assert said in str(refused.value)
    assert "partition 1" not in str(refused.value)


def test_a_topic_that_lost_what_a_batch_has_planned_is_refused(paths):
    plan_batch(paths.checkpoint, 2, {0: 40, 1: 40})
    assert settled(paths, latest=Positions({0: 40, 1: 40}))
    with fails(OffsetsWentBack, "topic_went_back", where=has("39")):
        settled(paths, latest=Positions({0: 40, 1: 39}))


def test_records_that_retention_took_before_they_were_read_are_counted_by_partition(paths):
    loss = has("partition 0: 3 records (12 to 14)", "partition 1: 1 records (30 to 30)")
    with fails(RecordsGone, "unread_removed", loss=loss):
        settled(paths, earliest=Positions({0: 15, 1: 31}))


def test_records_that_retention_took_after_they_were_read_are_nobodys_loss(paths):
    assert settled(paths, earliest=Positions({0: 12, 1: 20}))


def test_a_batch_that_was_planned_and_not_committed_still_needs_its_records(paths):
    plan_batch(paths.checkpoint, 2, {0: 40, 1: 40})
    with fails(RecordsGone, "unread_removed", loss=has("12")):
        settled(paths, earliest=Positions({0: 20, 1: 0}))


def test_a_partition_that_no_batch_knows_needs_its_records_from_the_first(paths):
    with fails(RecordsGone, "unread_removed", loss="partition 2: 5 records (0 to 4)"):
        settled(paths, earliest=Positions({0: 0, 1: 0, 2: 5}))


def test_a_first_batch_that_was_planned_and_never_committed_needs_its_records(tmp_path):
    paths = Paths(str(tmp_path), SPEC)
    paths.ensure_writable()
    settled(paths).write(paths.identity)
    plan_batch(begin(Path(str(paths.checkpoint)), {0: 5, 1: 0}), 0, {0: 50, 1: 50})
    assert settled(paths, earliest=Positions({0: 5, 1: 0}))
    with fails(RecordsGone, "unread_removed", loss="partition 0: 2 records (5 to 6)"):
        settled(paths, earliest=Positions({0: 7, 1: 0}))


def test_a_checkpoint_that_lost_batches_which_are_in_the_table_is_refused(paths):
    Cursor(audited=1).write(paths.cursor)
    assert settled(paths)
    (paths.checkpoint / "commits" / "1").unlink()
    assert settled(paths), "a batch without its commit is run again"
    (paths.checkpoint / "offsets" / "1").unlink()
    with fails(CheckpointForeign, "behind_table", newest=0, audited=1):
        settled(paths)


def test_a_checkpoint_that_was_deleted_beside_its_identity_is_refused(paths):
    Cursor(audited=1).write(paths.cursor)
    shutil.rmtree(str(paths.checkpoint))
    with fails(CheckpointForeign, "behind_table", newest=-1, audited=1):
        settled(paths)


def test_another_spec_is_said_before_another_topic(paths):
    """Whoever points a pipeline at another topic hears of the spec, which is what to revert."""
    with fails(StateIncompatible, "spec_changed", differences=has("topic.name")):
        settled(paths, pipeline(topic=topic(name="returns")), id="topic-2")


def more() -> Pipeline:
    """The spec with a field more."""
    later = Field(name="later", type="timestamp", required=False)
    return pipeline(topic=topic(fields=(*FIELDS, later)))


def test_a_change_can_be_taken_back_until_a_batch_is_made_by_it(paths):
    first = read_identity(paths)
    changed = settled(paths, more())
    changed.write(paths.identity)  # a run began, and its first batch failed
    assert settled(paths) == first
    assert settled(paths, more()) == changed
    plan_batch(paths.checkpoint, 2, {0: 40, 1: 40})
    assert settled(paths) == first, "a planned batch has made nothing yet"
    commit_batch(paths.checkpoint, 2)
    with fails(StateIncompatible, "spec_changed", differences=has("topic.fields.later")):
        settled(paths)
    bound = settled(paths, more())
    assert (bound.fingerprint, bound.before) == (changed.fingerprint, None)


def test_an_older_spark_comes_back_after_a_newer_whose_first_batch_failed(paths, monkeypatch):
    first = read_identity(paths)
    monkeypatch.setattr(identity, "version", lambda _: "4.3.0")
    settled(paths).write(paths.identity)
    monkeypatch.undo()
    assert settled(paths) == first


def test_a_batch_in_the_table_binds_to_the_change_though_it_is_not_committed(paths):
    changed = settled(paths, more())
    changed.write(paths.identity)
    plan_batch(paths.checkpoint, 2, {0: 40, 1: 40})
    done = CommitProperties(app_transactions=[Transaction(changed.owner(SPEC.name), 2)])
    rows = pa.table({"id": ["a"]})
    write_deltalake(str(paths.table), rows, commit_properties=done)
    with fails(StateIncompatible, "spec_changed", differences=has("topic.fields.later")):
        settled(paths)


def test_a_second_change_is_held_against_the_newest_batch_and_not_against_one_that_failed(paths):
    settled(paths, more()).write(paths.identity)
    other = pipeline(watermark_delay="3 hours")
    second = settled(paths, other)
    second.write(paths.identity)
    [line] = standing(Present(pipeline(watermark_delay="4 hours")), paths).warnings
    assert line.startswith("watermark_delay: was '2:00:00'")
    assert standing(Present(other), paths).warnings == (), "it is said once"
    assert "topic.fields.later" not in second.fingerprint


def test_an_identity_of_a_sluice_that_did_not_keep_it_is_filled_in(paths):
    text = json.loads(paths.identity.read_text())
    del text["classification"], text["before"]
    paths.identity.write_text(json.dumps(text))
    filled = settled(paths)
    assert filled.classification == classification(SPEC)
    assert filled.before is None


def test_what_records_are_classified_with_changes_freely_and_is_kept_for_the_batches_before(paths):
    amount = FIELDS[3].model_copy(update={"required": True})
    other = pipeline(topic=topic(fields=(*FIELDS[:3], amount), max_ahead="2 days"))
    assert standing(Present(other), paths).warnings == ()
    settled(paths, other).write(paths.identity)
    known = read_identity(paths)
    assert known.classification == classification(other)
    made = known.of_newest_batch(paths).classification
    assert made == classification(SPEC)
    assert with_classification(other, made, other_code=False) == SPEC
    newer = with_classification(more(), made, other_code=True)
    assert [field.required for field in newer.topic.fields][-1] is False
    assert with_classification(more(), made, other_code=False).topic == SPEC.topic


def test_an_identity_is_read_as_it_was_written_and_readable_for_a_person(paths):
    known = read_identity(paths)
    known.write(paths.identity)
    assert read_identity(paths) == known
    assert len(paths.identity.read_text().splitlines()) > len(known.fingerprint)
    assert [path.name for path in paths.version.iterdir() if path.name.startswith(".")] == []


def test_an_identity_of_a_newer_form_is_not_guessed_at(paths):
    paths.identity.write_text('{"format_version": 3, "generation": {"of": "tomorrow"}}')
    with fails(FormatNewer, "form_unknown", path=has("identity.json"), found=3):
        read_identity(paths)
