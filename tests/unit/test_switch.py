"""A rebuild's switch, and its way back, over real tables and checkpoints without Spark: cut off at
each of its places, and all that is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import deltalake
import pytest

from spark_jobs import failpoint
from spark_jobs.admin.accept import accept
from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.maintain import maintain
from spark_jobs.admin.reset import reset
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.live import live_spec, read_live
from spark_jobs.errors import (
    CheckpointBroken,
    DecisionRefused,
    LeaseHeld,
    RebuildRefused,
    SluiceError,
    StagingStale,
    StateUnreadable,
    VersionNotLive,
)
from spark_jobs.rebuild.ops_rows import put_runs
from spark_jobs.rebuild.side import begin, discard, read_begun, refuse_other, side_paths
from spark_jobs.rebuild.switch import complete, switch, switch_back
from spark_jobs.registry import find as registry
from spark_jobs.repair.exchange.preconditions import Claim, refuse_foreign
from spark_jobs.repair.manifest import Manifest
from spark_jobs.root.path_forms import place_of
from spark_jobs.root.paths import Paths
from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish
from spark_jobs.sink import history
from spark_jobs.sink.history import GENERATION
from spark_jobs.sink.restored import refuse_restored
from spark_jobs.sink.table import refuse_ahead, refuse_replaced, version
from spark_jobs.spans.position import Position
from spark_jobs.spec import State
from spark_jobs.storage.log_entries import entries
from tests.harness.listener import Listener
from tests.harness.roots import ROOT
from tests.unit.drains import SPEC, Drains
from tests.unit.specs import aggregate, deduplicate

NEXT = SPEC.model_copy(
    update={
        "state": State(version=2),
        "steps": (deduplicate(), aggregate(measures={"sales": "count(*)", "most": "max(amount)"})),
    }
)
PLACES = 10
"""After the note is written, and after each of the steps."""
PLACES_BACK = 6


class Killed(Exception):
    """What a kill is to a test."""


class Rebuilt:
    """A live pipeline with the rows 0 to 4, and a rebuild of it with those and one more."""

    def __init__(self, folder: Path) -> None:
        self.live = Drains(folder / ROOT)
        self.live.drain(0, 4)
        self.root = self.live.settings.root
        begin(self.live.paths, NEXT, "topic-1", "tester")
        self.side = Drains(Path(self.root) / "rebuilds" / SPEC.name, NEXT, "g2")
        self.side.drain(0, 5)
        self.paths = Paths(self.root, NEXT)

    def switch(self) -> None:
        switch(SPEC, NEXT, self.root, "switch")

    def back(self) -> None:
        switch_back(NEXT, SPEC, self.root, "back")

    def complete(self, spec: object) -> None:
        """As the next drain does."""
        paths = Paths(self.root, spec)  # type: ignore[arg-type]
        with lease(paths.lease, "next") as held:
            complete(spec, paths, held)  # type: ignore[arg-type]


@pytest.fixture
def rebuilt(tmp_path: Path) -> Rebuilt:
    return Rebuilt(tmp_path)


def kill_at(active: pytest.MonkeyPatch, place: int) -> None:
    places = count()

    def at(name: str) -> None:
        assert name == "switching"
        if next(places) == place:
            raise Killed

    active.setattr(failpoint, "at", at)


def assert_drains(rebuilt: Rebuilt, spec: object, generation: str, batch: int) -> None:
    """The checkpoint of this spec, and the table, are as one that has always been live."""
    paths = Paths(rebuilt.root, spec)  # type: ignore[arg-type]
    known, cursor = read_identity(paths), read_cursor(paths.cursor)
    assert known is not None
    assert known.generation == generation
    owner = known.owner(SPEC.name)
    checkpoint = Checkpoint(paths.checkpoint)
    refuse_replaced(paths.table, SPEC.name, known.table_id)
    refuse_restored(paths, cursor.judged_table_version)
    refuse_ahead(paths.table, owner, checkpoint)
    table = deltalake.DeltaTable(str(paths.table))
    assert table.metadata().configuration[GENERATION] == generation
    assert table.transaction_version(owner) == batch == checkpoint.committed()[-1]
    fact = read_live(paths.live)
    assert fact is not None
    assert (fact.version, fact.batch) == (spec.state.version, batch)  # type: ignore[attr-defined]
    assert (
        fact.table_version == cursor.table_version == cursor.judged_table_version == table.version()
    )
    assert not paths.switching.exists()


def test_a_switch_is_one_commit_of_a_table_that_keeps_its_id_and_nothing_is_left(rebuilt) -> None:
    before, id_before = rebuilt.live.table.version(), rebuilt.live.table.metadata().id
    rebuilt.switch()
    assert rebuilt.live.rows == [0, 1, 2, 3, 4, 5]
    assert rebuilt.live.table.version() == before + 1
    assert rebuilt.live.table.metadata().id == id_before
    assert_drains(rebuilt, NEXT, "g2", 5)
    assert not rebuilt.paths.rebuild.exists()
    assert rebuilt.live.accounted() == sorted(
        [(batch, "g1") for batch in range(5)] + [(batch, "g2") for batch in range(6)]
    )
    kinds = rebuilt.live.ops("runs", "run_id, kind")
    assert kinds == [("0 to 4", "drain"), ("0 to 5", "rebuild")]


def test_a_reader_of_the_version_before_reads_it_on(rebuilt) -> None:
    before = deltalake.DeltaTable(str(rebuilt.paths.table))
    rebuilt.switch()
    assert sorted(before.to_pyarrow_table()["n"].to_pylist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("place", range(PLACES))
def test_a_switch_that_was_cut_off_is_completed_by_the_next_run(rebuilt, monkeypatch, place):
    with monkeypatch.context() as active:
        kill_at(active, place)
        with pytest.raises(Killed):
            rebuilt.switch()
    assert live_spec(NEXT, rebuilt.root) == NEXT
    with pytest.raises(CheckpointBroken, match="sluice drain sales_hourly"):
        read_identity(rebuilt.live.paths)
    with pytest.raises(CheckpointBroken):
        reset(SPEC, rebuilt.live.settings)
    rebuilt.complete(NEXT)
    assert rebuilt.live.rows == [0, 1, 2, 3, 4, 5]
    assert rebuilt.live.table.version() == 6
    assert_drains(rebuilt, NEXT, "g2", 5)
    assert len(rebuilt.live.accounted()) == 11
    assert len(rebuilt.live.ops("runs", "run_id")) == 2
    assert not rebuilt.paths.rebuild.exists()


def test_it_passes_each_of_its_places_once(rebuilt, monkeypatch) -> None:
    passed = count()
    monkeypatch.setattr(failpoint, "at", lambda _: next(passed))
    rebuilt.switch()
    assert next(passed) == PLACES
    rebuilt.back()
    assert next(passed) == PLACES + 1 + PLACES_BACK


@pytest.mark.parametrize("place", [None, *range(PLACES_BACK)])
def test_the_way_back_gives_the_table_its_former_rows_and_the_former_checkpoint_drains(
    rebuilt, monkeypatch, place
) -> None:
    rebuilt.switch()
    if place is None:
        rebuilt.back()
    else:
        with monkeypatch.context() as active:
            kill_at(active, place)
            with pytest.raises(Killed):
                rebuilt.back()
        rebuilt.complete(SPEC)
    assert rebuilt.live.rows == [0, 1, 2, 3, 4]
    assert rebuilt.live.table.version() == 7
    assert_drains(rebuilt, SPEC, "g1", 4)
    kept = [path.name for path in rebuilt.paths.version.parent.glob("v2.kept-*")]
    assert len(kept) == 1
    assert not rebuilt.paths.version.exists()
    with pytest.raises(RebuildRefused, match="no switch is there to take back"):
        switch_back(SPEC, NEXT, rebuilt.root, "back")


def test_the_drain_after_a_switch_goes_on_in_the_same_table(rebuilt) -> None:
    rebuilt.switch()
    after = Drains.of(rebuilt.root, NEXT)
    after.drain(6, 7)
    assert after.rows == [0, 1, 2, 3, 4, 5, 6, 7]
    rewind(NEXT, after.settings, 6).execute()  # type: ignore[misc]
    assert after.rows == [0, 1, 2, 3, 4, 5, 6]


def test_a_rewind_to_before_the_switch_is_refused(rebuilt) -> None:
    rebuilt.switch()
    with pytest.raises(StateUnreadable, match="Rewind to batch 5"):
        rewind(NEXT, rebuilt.live.settings, 3)
    rewind(NEXT, rebuilt.live.settings, 5)


def test_it_is_refused_also_behind_the_way_back_from_a_later_switch(rebuilt) -> None:
    rebuilt.switch()
    third = NEXT.model_copy(update={"state": State(version=3), "steps": SPEC.steps})
    begin(rebuilt.paths, third, "topic-1", "tester")
    Drains(Path(str(rebuilt.paths.rebuild)), third, "g3").drain(0, 6)
    switch(NEXT, third, rebuilt.root, "switch")
    switch_back(third, NEXT, rebuilt.root, "back")
    assert_drains(rebuilt, NEXT, "g2", 5)
    with pytest.raises(StateUnreadable, match="Rewind to batch 5"):
        rewind(NEXT, rebuilt.live.settings, 3)


def test_behind_the_way_back_one_rewinds_to_batches_of_before_the_switch(rebuilt) -> None:
    rebuilt.switch()
    rebuilt.back()
    rewind(SPEC, rebuilt.live.settings, 2).execute()  # type: ignore[misc]
    assert rebuilt.live.rows == [0, 1, 2]


def test_the_published_table_and_the_event_follow(rebuilt) -> None:
    judged = rebuilt.live.cursor.judged_table_version
    listener = Listener()
    listener.publish(rebuilt.live.paths, SPEC)
    rebuilt.switch()
    event = listener.publish(rebuilt.paths, NEXT)
    assert event is not None
    assert (event.generation, event.table_version) == ("g2", judged + 1)
    assert (event.number, event.table_version_before, event.account.read) == (2, None, 6)
    assert listener.publish(rebuilt.paths, NEXT) is None
    shown = deltalake.DeltaTable(str(rebuilt.paths.published_table))
    assert sorted(shown.to_pyarrow_table()["n"].to_pylist()) == [0, 1, 2, 3, 4, 5]
    assert [note for note, _ in history.commits(rebuilt.paths.table, {"sales_hourly/g2"})] == [5]


def refused(rebuilt: Rebuilt, error: type[SluiceError], words: str) -> None:
    before = rebuilt.live.table.version()
    with pytest.raises(error, match=words):
        rebuilt.switch()
    assert rebuilt.live.table.version() == before
    assert not rebuilt.paths.switching.exists()
    assert read_identity(rebuilt.live.paths) is not None


def test_a_switch_waits_for_the_drain_that_works(rebuilt) -> None:
    with lease(rebuilt.live.paths.lease, "drain"):
        refused(rebuilt, LeaseHeld, "run drain")


def test_a_switch_waits_for_the_repair_that_is_computed(rebuilt) -> None:
    with lease(rebuilt.live.paths.staging_lease, "stage"):
        refused(rebuilt, RebuildRefused, "a repair is being computed by run stage")


def test_rows_that_have_not_passed_are_not_switched_to(rebuilt) -> None:
    rebuilt.side.drain(6, 6, red=True)
    refused(rebuilt, RebuildRefused, "batches 6 to 6 of the rebuild have not passed")


def test_a_rebuild_that_is_behind_is_not_switched_to(rebuilt) -> None:
    rebuilt.live.drain(5, 7)
    refused(rebuilt, RebuildRefused, "has read 2 offsets that the rebuild has not")


def test_a_state_version_that_was_used_is_not_taken_again(rebuilt) -> None:
    rebuilt.paths.version.mkdir()
    refused(rebuilt, RebuildRefused, "state version v2 of sales_hourly was used before")


def test_a_table_that_was_made_again_is_not_switched(rebuilt) -> None:
    deltalake.DeltaTable.create(
        str(rebuilt.paths.table), rebuilt.live.table.schema(), mode="overwrite"
    )
    identity = rebuilt.live.identity
    identity.model_copy(update={"table_id": "another"}).write(rebuilt.live.paths.identity)
    refused(rebuilt, RebuildRefused, "is not a table that .* has written")


def test_a_table_with_a_constraint_is_not_switched(rebuilt) -> None:
    rebuilt.live.table.alter.add_constraint({"small": "n < 100"})
    refused(rebuilt, RebuildRefused, "delta.constraints.small")


def test_the_way_back_is_refused_when_vacuum_has_removed_its_files(rebuilt) -> None:
    rebuilt.switch()
    *_, first = entries(rebuilt.live.paths.table)
    assert first["version"] == 0
    table = deltalake.DeltaTable(str(rebuilt.paths.table), version=5)
    Path(place_of(table.file_uris()[0])).unlink()
    with pytest.raises(RebuildRefused, match="VACUUM"):
        rebuilt.back()
    assert rebuilt.live.rows == [0, 1, 2, 3, 4, 5]


def test_a_rebuild_that_is_half_done_is_not_continued_by_another_next_or_topic(rebuilt) -> None:
    begun = read_begun(rebuilt.live.paths)
    assert begun is not None
    refuse_other(begun, NEXT, "topic-1")
    other = NEXT.model_copy(update={"steps": SPEC.steps})
    with pytest.raises(
        RebuildRefused, match=r"steps\[1\].measures: was .*max.* is .*sum.*--discard"
    ):
        refuse_other(begun, other, "topic-1")
    with pytest.raises(RebuildRefused, match="deleted and created again"):
        refuse_other(begun, NEXT, "topic-2")


def test_discard_removes_what_is_half_done_and_never_beside_its_drain(rebuilt) -> None:
    with (
        lease(side_paths(rebuilt.live.paths, NEXT).lease, "rebuild"),
        pytest.raises(RebuildRefused, match="run rebuild"),
    ):
        discard(rebuilt.live.paths)
    discard(rebuilt.live.paths)()
    assert not rebuilt.live.paths.rebuild.exists()
    assert rebuilt.live.rows == [0, 1, 2, 3, 4]


def test_which_spec_drains_is_a_fact_of_the_root_in_both_orders(rebuilt, monkeypatch) -> None:
    following: Callable[[str], object] = lambda _: NEXT  # noqa: E731
    monkeypatch.setattr(registry, "load_next", following)
    assert live_spec(SPEC, rebuilt.root) == SPEC
    rebuilt.switch()
    assert live_spec(SPEC, rebuilt.root) == NEXT  # NEXT is still named so
    assert live_spec(NEXT, rebuilt.root) == NEXT  # it is renamed
    monkeypatch.setattr(registry, "load_next", lambda _: None)
    with pytest.raises(VersionNotLive, match=r"state=State\(version=2\)"):
        live_spec(SPEC, rebuilt.root)  # NEXT is removed, and SPEC as it was
    rebuilt.back()
    assert live_spec(SPEC, rebuilt.root) == SPEC


def test_the_way_back_is_refused_where_rows_of_before_had_no_account(rebuilt) -> None:
    rebuilt.live.commit(5)
    rebuilt.switch()
    with pytest.raises(RebuildRefused, match="nobody has accounted for them"):
        rebuilt.back()


def test_a_run_whose_spec_was_loaded_before_the_switch_is_refused(rebuilt, monkeypatch) -> None:
    rebuilt.switch()
    with pytest.raises(VersionNotLive, match="state version 2 of sales_hourly is live since"):
        read_identity(rebuilt.live.paths)
    kill_at(monkeypatch, 0)
    with pytest.raises(Killed):
        rebuilt.back()
    with pytest.raises(VersionNotLive):
        rebuilt.complete(NEXT)


def test_a_run_beside_between_the_note_and_the_switch_loses_nothing(rebuilt, monkeypatch) -> None:
    with monkeypatch.context() as active:
        kill_at(active, 0)
        with pytest.raises(Killed):
            rebuilt.switch()
    rebuilt.side.drain(6, 7)  # who gave `sluice rebuild` beside the one that was killed
    with pytest.raises(RebuildRefused, match="went on after its switch had begun"):
        rebuilt.complete(NEXT)
    assert read_identity(rebuilt.live.paths) is not None
    assert rebuilt.live.rows == [0, 1, 2, 3, 4]
    rebuilt.switch()
    assert rebuilt.live.rows == [0, 1, 2, 3, 4, 5, 6, 7]
    assert_drains(rebuilt, NEXT, "g2", 7)


@pytest.mark.parametrize("place", range(1, PLACES - 1))
def test_from_the_first_step_on_no_run_goes_on_beside(rebuilt, monkeypatch, place: int) -> None:
    with monkeypatch.context() as active:
        kill_at(active, place)
        with pytest.raises(Killed):
            rebuilt.switch()
    with pytest.raises(VersionNotLive, match="a switch takes what was rebuilt here"):
        read_identity(rebuilt.side.paths)
    with pytest.raises(VersionNotLive, match="in the root of the live table"):
        live_spec(SPEC, str(rebuilt.paths.rebuild))


def test_a_run_beside_waits_while_the_switch_works(rebuilt, monkeypatch) -> None:
    held = []

    def at(_: str) -> None:
        with pytest.raises(LeaseHeld), lease(rebuilt.side.paths.lease, "rebuild"):
            pass
        held.append(True)

    with monkeypatch.context() as active:
        active.setattr(failpoint, "at", at)
        rebuilt.switch()
    assert len(held) == PLACES


def test_a_way_back_that_was_cut_off_before_vacuum_is_forgotten(rebuilt, monkeypatch) -> None:
    rebuilt.switch()
    with monkeypatch.context() as active:
        kill_at(active, 0)
        with pytest.raises(Killed):
            rebuilt.back()
    table = deltalake.DeltaTable(str(rebuilt.paths.table), version=5)
    Path(place_of(table.file_uris()[0])).unlink()
    with pytest.raises(RebuildRefused, match=r"version 5 of .* is gone by now"):
        rebuilt.complete(SPEC)
    assert rebuilt.live.rows == [0, 1, 2, 3, 4, 5]
    assert_drains(rebuilt, NEXT, "g2", 5)


def test_spark_finds_the_schemas_of_state_where_the_checkpoint_is_now(rebuilt) -> None:
    def note(paths: Paths) -> Path:
        return Path(str(paths.checkpoint)) / "state/0/_metadata/v2/0"

    def text(paths: Paths) -> str:
        schema = f"file:{paths.checkpoint}/state/0/_stateSchema/default/0_1"
        return f'v2\n{{"stateStoreInfo":[{{"stateSchemaFilePaths":["{schema}"]}}]}}'

    place = note(rebuilt.side.paths)
    place.parent.mkdir(parents=True)
    place.write_text(text(rebuilt.side.paths))
    place.with_name(".0.crc").write_bytes(b"of the text")
    rebuilt.switch()
    assert note(rebuilt.paths).read_text() == text(rebuilt.paths)
    assert not note(rebuilt.paths).with_name(".0.crc").exists()


def test_after_a_reset_one_rewinds_to_any_batch_of_the_new_table(rebuilt) -> None:
    rebuilt.switch()
    reset(NEXT, rebuilt.live.settings).execute()  # type: ignore[misc]
    assert live_spec(NEXT, rebuilt.root) == NEXT
    after = Drains(Path(rebuilt.root), NEXT, "g3")
    after.drain(0, 4)
    rewind(NEXT, after.settings, 2).execute()  # type: ignore[misc]
    assert after.rows == [0, 1, 2]
    with pytest.raises(RebuildRefused, match="there was a reset"):
        rebuilt.back()


def test_a_repair_of_the_former_version_goes_in_or_out_only_while_that_drains(rebuilt) -> None:
    made = Manifest(
        repair_id="r1",
        pipeline=SPEC.name,
        generation="g1",
        kind="repair",
        spans=(),
        differing=(),
        position=Position("window_end", "end"),
        table_id=str(rebuilt.live.table.metadata().id),
        table_version=5,
    )
    claims = Claim("r1", made, 5), Claim("r1.undo", made, 5)
    for each in claims:
        assert refuse_foreign(rebuilt.live.paths, each).generation == "g1"
    rebuilt.switch()
    for each in claims:
        with pytest.raises(StagingStale, match="Compute the range again"):
            refuse_foreign(rebuilt.paths, each)
        with pytest.raises(VersionNotLive):  # a swap whose spec was loaded before
            refuse_foreign(rebuilt.live.paths, each)
    rebuilt.back()
    for each in claims:
        assert refuse_foreign(rebuilt.live.paths, each).generation == "g1"


def test_nothing_is_maintained_or_published_amid_a_switch(rebuilt, monkeypatch) -> None:
    kill_at(monkeypatch, 3)
    with pytest.raises(Killed):
        rebuilt.switch()
    for paths, spec in ((rebuilt.live.paths, SPEC), (rebuilt.paths, NEXT)):
        with pytest.raises(CheckpointBroken, match="was cut off"):
            publish(paths, spec, Announced())
        with pytest.raises(CheckpointBroken, match="was cut off"):
            maintain(spec, rebuilt.live.settings)
        with pytest.raises(CheckpointBroken, match="was cut off"):
            doctor(spec, rebuilt.live.settings)


def test_a_verdict_on_the_live_table_is_found_behind_the_runs_of_a_rebuild(rebuilt) -> None:
    rebuilt.live.drain(5, 5, red=True)
    rebuilt.side.drain(6, 7)
    rebuilt.side.drain(8, 9)
    put_runs(rebuilt.side.paths, rebuilt.live.paths)
    with pytest.raises(DecisionRefused, match="run 5 to 5 ended at version 6"):
        accept(SPEC, rebuilt.live.settings, ("a check",), "a reason", "tester")


def test_a_cursor_made_anew_has_the_version_of_the_switch_and_not_the_one_beside(rebuilt) -> None:
    rebuilt.side.drain(6, 7)
    rebuilt.switch()
    rebuilt.paths.cursor.write_text("torn")
    doctor(NEXT, rebuilt.live.settings).execute()  # type: ignore[misc]
    cursor = read_cursor(rebuilt.paths.cursor)
    assert (cursor.audited, cursor.judged) == (7, -1), "the next run judges all of it again"
    assert cursor.table_version == version(rebuilt.paths.table)
