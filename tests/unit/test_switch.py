"""A rebuild's switch, its way back and a reset, killed at each place, and all refusals."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import deltalake
import pytest
from upath import UPath

from spark_jobs.admin import care
from spark_jobs.admin.accept import accept
from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.expired import expired
from spark_jobs.admin.maintain import maintain
from spark_jobs.admin.rebuild.beside import begin, beside_paths, discard, refuse_other
from spark_jobs.admin.rebuild.switch import switch, switch_back
from spark_jobs.admin.reset import reset
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.begun import under_way
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.live import GRACE, following, read_live, refuse_dead
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.checkpoint.notes.rebuild_note import read_begun
from spark_jobs.errors import (
    CheckpointBroken,
    DecisionRefused,
    LeaseHeld,
    LeaseLost,
    RebuildRefused,
    SluiceError,
    StagingStale,
    VersionNotLive,
)
from spark_jobs.journal.runner import leased
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.repair.exchange.preconditions import Claim, refuse_foreign
from spark_jobs.runs.preflight import refuse_ahead, refuse_replaced, refuse_restored
from spark_jobs.runs.publish import publication
from spark_jobs.runs.publish.due import Announced
from spark_jobs.spec import Pipeline, State
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.live_place import Place
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta.log_entries import GENERATION
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.published import table as published_table
from spark_jobs.table.published.table import Target
from tests.harness import roots
from tests.harness.listener import Listener
from tests.harness.refused import fails, has
from tests.harness.roots import ROOT
from tests.unit.drains import NEXT, SPEC, Drains

PLACES = 3
"""After the note is written, and after each of the steps."""


class Killed(Exception):
    """What a kill is to a test."""


_MADE: list[TemporaryDirectory[str]] = []
"""A root with both, which is made once."""


class Rebuilt:
    """A live pipeline with the rows 0 to 4, and a rebuild of it with those and one more."""

    def __init__(self, folder: Path) -> None:
        self.root = str(folder / ROOT)
        if not _MADE:
            _MADE.append(TemporaryDirectory(prefix="sluice-rebuilt-"))
            live = Drains(Path(_MADE[0].name))
            live.drain(0, 4)
            begin(live.paths, NEXT, "topic-1", "tester")
            Drains(Path(_MADE[0].name), NEXT, "g2").drain(0, 5)
        shutil.copytree(_MADE[0].name, self.root)
        self.live, self.side = Drains.of(self.root, SPEC), Drains.of(self.root, NEXT)

    def paths(self, spec: Pipeline = NEXT) -> Paths:
        """As they are now."""
        return Paths(self.root, spec)

    def switch(self) -> None:
        switch(SPEC, NEXT, self.root, "switch")

    def back(self) -> None:
        switch_back(NEXT, SPEC, self.root, "back")

    def complete(self, spec: Pipeline) -> None:
        """As the next run does."""
        with leased(self.paths(spec), "next"):
            pass


@pytest.fixture
def rebuilt(tmp_path) -> Rebuilt:
    return Rebuilt(tmp_path)


def kill_at(active: pytest.MonkeyPatch, place: int) -> None:
    places = count()

    def at(_: str) -> None:
        if next(places) == place:
            raise Killed

    active.setattr(failpoint, "at", at)


def assert_drains(rebuilt: Rebuilt, spec: Pipeline, generation: str, batch: int) -> None:
    """The checkpoint of this spec, and its table, are as those that have always been live."""
    paths = rebuilt.paths(spec)
    known, cursor = read_identity(paths), read_cursor(paths.cursor)
    assert known.generation == generation
    owner = known.owner(SPEC.name)
    checkpoint = Checkpoint(paths.checkpoint)
    refuse_replaced(Delta(paths.table), SPEC.name, known.table_id)
    refuse_restored(paths, cursor.judged_table_version)
    refuse_ahead(Delta(paths.table), owner, checkpoint)
    table = deltalake.DeltaTable(str(paths.table))
    assert table.metadata().configuration[GENERATION] == generation
    assert table.transaction_version(owner) == batch == checkpoint.committed()[-1]
    fact = read_live(paths)
    assert (fact.version, fact.folder, fact.table) == (
        spec.state.version,
        paths.version.name,
        paths.table.name,
    )
    assert cursor.judged_table_version == table.version()
    assert paths.lease.parent == paths.above
    assert not paths.place.beside
    assert under_way(paths) is None


def rows(paths: Paths) -> list[int]:
    return sorted(deltalake.DeltaTable(str(paths.table)).to_pyarrow_table()["n"].to_pylist())


def test_a_rebuild_drains_into_a_table_and_a_folder_of_its_own_in_the_same_root(rebuilt):
    side = rebuilt.side.paths
    assert side.place.beside
    assert (side.table.name, side.version.name) == ("sales_hourly.v2", "v2")
    assert side.lease != rebuilt.live.paths.lease
    assert side.journal != rebuilt.live.paths.journal
    assert side.stagings != rebuilt.live.paths.stagings
    assert (rows(rebuilt.live.paths), rows(side)) == ([*range(5)], [*range(6)])


def test_a_switch_is_one_write_of_a_file(rebuilt):
    before = rebuilt.live.table.version(), rebuilt.side.table.version()
    rebuilt.switch()
    assert rows(rebuilt.paths()) == [0, 1, 2, 3, 4, 5]
    assert (rebuilt.live.table.version(), rebuilt.side.table.version()) == before
    assert_drains(rebuilt, NEXT, "g2", 5)
    assert read_begun(rebuilt.paths()) is None
    assert rebuilt.live.accounted() == sorted(
        [(batch, "g1") for batch in range(5)] + [(batch, "g2") for batch in range(6)]
    )
    kinds = rebuilt.live.ops("runs", "run_id, kind")
    assert kinds == [("0 to 4", "drain"), ("0 to 5", "rebuild")]


def test_the_way_back_lets_the_former_checkpoint_drain_into_its_own_table(rebuilt):
    rebuilt.switch()
    rebuilt.back()
    assert rows(rebuilt.paths(SPEC)) == [0, 1, 2, 3, 4]
    assert_drains(rebuilt, SPEC, "g1", 4)
    with fails(RebuildRefused, "no_switch"):
        switch_back(SPEC, NEXT, rebuilt.root, "back")


def test_the_drain_after_a_switch_goes_on_and_one_rewinds_also_to_before_the_switch(rebuilt):
    rebuilt.switch()
    after = Drains.of(rebuilt.root, NEXT)
    after.drain(6, 7)
    assert after.rows == [0, 1, 2, 3, 4, 5, 6, 7]
    rewind(NEXT, after.settings, 6).execute()
    assert after.rows == [0, 1, 2, 3, 4, 5, 6]
    rewind(NEXT, after.settings, 3).execute()
    assert after.rows == [0, 1, 2, 3]


def test_the_published_table_and_the_event_follow_there_and_back(rebuilt):
    listener = Listener()
    listener.publish(rebuilt.live.paths, SPEC)
    rebuilt.switch()
    paths = rebuilt.paths()
    event = listener.publish(paths, NEXT)
    assert (event.generation, event.table, event.table_version) == ("g2", str(paths.table), 6)
    assert (event.number, event.table_version_before, event.account.read) == (2, None, 6)
    assert listener.publish(paths, NEXT) is None
    shown = deltalake.DeltaTable(str(paths.published_table))
    assert sorted(shown.to_pyarrow_table()["n"].to_pylist()) == [0, 1, 2, 3, 4, 5]
    rebuilt.back()
    event = listener.publish(rebuilt.paths(SPEC), SPEC)
    assert (event.number, event.generation, event.account.read) == (3, "g1", 5)
    shown = deltalake.DeltaTable(str(paths.published_table))
    assert sorted(shown.to_pyarrow_table()["n"].to_pylist()) == [0, 1, 2, 3, 4]


def test_nothing_of_a_rebuild_is_published_before_the_switch(rebuilt):
    side = rebuilt.side.paths
    with fails(RebuildRefused, "unpublished"):
        publication.publish(side, NEXT, Announced())
    assert publication.to_publish(side, NEXT) is None
    assert not side.published_table.exists()
    assert not side.events.exists()


def refused(rebuilt: Rebuilt, error: type[SluiceError], reason: str, **told: object) -> None:
    with fails(error, reason, **told):
        rebuilt.switch()
    assert not rebuilt.paths().live.exists()
    assert under_way(rebuilt.paths(SPEC)) is None
    assert read_identity(rebuilt.live.paths) is not None


@pytest.mark.parametrize(
    ("place", "error", "reason"),
    [
        ("live.paths.lease", LeaseHeld, "held_by_drain"),
        ("side.paths.lease", LeaseHeld, "held_by_drain"),
        ("live.paths.staging_lease", RebuildRefused, "repair_computing"),
    ],
)
def test_a_switch_waits_for_the_drains_of_both_and_for_a_stage(rebuilt, place, error, reason):
    with lease(attrgetter(place)(rebuilt), "one"):
        refused(rebuilt, error, reason, holder=has("run one"))


def test_rows_that_have_not_passed_are_not_switched_to(rebuilt):
    rebuilt.side.drain(6, 6, red=True)
    refused(rebuilt, RebuildRefused, "unjudged", first=6, newest=6)


def test_a_rebuild_that_is_behind_is_not_switched_to(rebuilt):
    rebuilt.live.drain(5, 7)
    refused(rebuilt, RebuildRefused, "behind_live", missing=2)


def test_a_table_that_was_made_again_is_not_switched(rebuilt):
    identity = rebuilt.live.identity
    identity.model_copy(update={"table_id": "another"}).write(rebuilt.live.paths.identity)
    refused(rebuilt, RebuildRefused, "live_table_foreign")


def test_without_a_rebuild_there_is_nothing_to_switch_to(rebuilt):
    discard(rebuilt.live.paths)()
    refused(rebuilt, RebuildRefused, "no_rebuild")


def test_a_rebuild_that_is_half_done_is_not_continued_by_another_next_or_topic(rebuilt):
    begun = read_begun(rebuilt.live.paths)
    assert begun is not None
    refuse_other(begun, NEXT, "topic-1")
    other = NEXT.model_copy(update={"steps": SPEC.steps})
    with fails(RebuildRefused, "next_changed", differences=has("steps[1].measures: was ")):
        refuse_other(begun, other, "topic-1")
    with fails(RebuildRefused, "topic_remade"):
        refuse_other(begun, NEXT, "topic-2")


def test_discard_removes_what_is_half_done_and_never_beside_its_drain(rebuilt):
    side = rebuilt.side.paths
    with lease(side.lease, "drain"), fails(LeaseHeld, "held_by_drain", holder=has("run drain")):
        discard(rebuilt.live.paths)()
    assert side.table.exists()
    discard(rebuilt.live.paths)()
    assert read_begun(rebuilt.live.paths) is None
    assert not any(each.exists() for each in (side.table, side.version))
    assert rebuilt.live.rows == [0, 1, 2, 3, 4]
    assert rebuilt.live.accounted() == [(batch, "g1") for batch in range(5)]
    side.ensure_writable()  # as a run of it that was begun before
    with pytest.raises(VersionNotLive), leased(side, "late"):
        pass


def test_which_spec_drains_is_a_fact_of_the_root_in_both_orders(rebuilt, monkeypatch):
    following: Callable[[str], object] = lambda _: NEXT  # noqa: E731
    monkeypatch.setattr(registry, "load_next", following)
    assert live_spec(SPEC, rebuilt.root) == SPEC
    assert live_spec(SPEC, rebuilt.root, about=True) == NEXT
    monkeypatch.setattr(registry, "load_next", lambda _: None)
    with pytest.raises(VersionNotLive):
        live_spec(NEXT, rebuilt.root)  # NEXT is renamed before its switch
    monkeypatch.setattr(registry, "load_next", following)
    rebuilt.switch()
    with fails(RebuildRefused, "no_rebuild_of_next"):
        live_spec(SPEC, rebuilt.root, about=True)
    assert live_spec(SPEC, rebuilt.root) == NEXT  # NEXT is still named so
    assert live_spec(NEXT, rebuilt.root) == NEXT  # it is renamed
    monkeypatch.setattr(registry, "load_next", lambda _: None)
    with fails(VersionNotLive, "spec_absent"):
        live_spec(SPEC, rebuilt.root)  # NEXT is removed, and SPEC as it was
    rebuilt.back()
    assert live_spec(SPEC, rebuilt.root) == SPEC


def test_a_run_whose_spec_was_loaded_before_the_switch_is_refused(rebuilt):
    rebuilt.switch()
    with fails(VersionNotLive, "switched_meanwhile", live=has("state version 2")):
        read_identity(rebuilt.live.paths)
    with fails(VersionNotLive, "switched_meanwhile"), leased(rebuilt.live.paths, "drain"):
        pass


def test_a_run_beside_that_was_begun_before_the_switch_never_works_without_the_live_lease(rebuilt):
    before = rebuilt.side.paths
    rebuilt.switch()
    assert before.lease != rebuilt.paths().lease
    with pytest.raises(VersionNotLive), leased(before, "rebuild"):
        pass


def test_a_run_beside_waits_while_the_switch_works(rebuilt, monkeypatch):
    held = []

    def at(_: str):
        with pytest.raises(LeaseHeld), lease(rebuilt.side.paths.lease, "rebuild"):
            pass
        held.append(True)

    with monkeypatch.context() as active:
        active.setattr(failpoint, "at", at)
        rebuilt.switch()
    assert len(held) == PLACES


def test_a_reset_by_the_spec_of_before_a_switch_tells_what_drains_now(rebuilt):
    rebuilt.switch()
    now = rebuilt.paths()
    now.staging("r1").mkdir(parents=True)
    intent = reset(SPEC, rebuilt.live.settings)
    assert f"leave {now.version} and {now.table}" in intent.lines[1]
    intent.execute()
    assert not now.staging("r1").exists()
    assert rebuilt.paths(SPEC).place.folder == "v1.2"


def test_a_rebuild_is_discarded_and_not_reset(rebuilt):
    with fails(RebuildRefused, "reset_of_rebuild"):
        reset(NEXT, rebuilt.live.settings)


def test_a_repair_of_the_former_version_goes_in_or_out_only_while_that_drains(rebuilt):
    table_id = str(rebuilt.live.table.metadata().id)
    made = roots.manifest(SPEC.name, table_id=table_id, table_version=5)
    claims = Claim("r1", made, 5), Claim("r1.undo", made, 5)
    for each in claims:
        assert refuse_foreign(rebuilt.live.paths, each).generation == "g1"
    rebuilt.switch()
    for each in claims:
        with fails(StagingStale, "table_moved_on"):
            refuse_foreign(rebuilt.paths(), each)
        with pytest.raises(VersionNotLive):  # a swap whose spec was loaded before
            refuse_foreign(rebuilt.live.paths, each)
    rebuilt.back()
    for each in claims:
        assert refuse_foreign(rebuilt.paths(SPEC), each).generation == "g1"


def test_a_verdict_on_the_live_table_is_found_behind_the_runs_of_a_rebuild(rebuilt):
    rebuilt.live.drain(5, 5, red=True)
    rebuilt.side.drain(6, 7)
    rebuilt.side.drain(8, 9)
    with fails(DecisionRefused, "verdict_outdated"):
        accept(SPEC, rebuilt.live.settings, ("a check",), "a reason", "tester")


def test_a_cursor_made_anew_behind_the_switch_has_what_the_rebuild_had(rebuilt):
    rebuilt.side.drain(6, 7)
    rebuilt.switch()
    paths = rebuilt.paths()
    paths.cursor.write_text("torn")
    doctor(NEXT, rebuilt.live.settings).execute()
    cursor = read_cursor(paths.cursor)
    assert cursor.audited == 7


def test_a_switch_beside_a_discard_is_refused_and_nothing_live_is_removed(rebuilt, monkeypatch):
    """The discard has looked, and removes rows of the ops tables."""
    tried = []

    def removes(*_: object):
        if not tried:
            tried.append(True)
            with pytest.raises(LeaseHeld):
                rebuilt.switch()

    monkeypatch.setattr(ops_tables, "remove", removes)
    discard(rebuilt.live.paths)()
    assert tried
    assert not rebuilt.side.paths.version.exists()
    assert live_spec(SPEC, rebuilt.root) == SPEC


@pytest.mark.parametrize("lost", ["removed", "torn"])
def test_a_live_file_that_is_lost_is_found_again(rebuilt, lost):
    rebuilt.switch()
    live = rebuilt.paths().live
    if lost == "torn":
        live.write_text("{")
        with fails(CheckpointBroken, "live_unreadable"):
            rebuilt.paths()
    live.unlink()
    assert_drains(rebuilt, NEXT, "g2", 5)
    rebuilt.back()
    live.unlink()
    assert_drains(rebuilt, SPEC, "g1", 4)
    reset(SPEC, rebuilt.live.settings).execute()  # type: ignore[misc]
    live.unlink()
    assert rebuilt.paths(SPEC).table.name == "sales_hourly.v1.2"


def maintained(rebuilt: Rebuilt, spec: Pipeline, days: float, patch: pytest.MonkeyPatch) -> None:
    """So many days after now."""
    now, found = datetime.now(UTC) + timedelta(days=days), care.dead_places
    patch.setattr("spark_jobs.admin.maintain.dead_places", lambda paths, _: found(paths, now))
    intent = maintain(spec, rebuilt.live.settings)
    if intent.execute:
        intent.execute()


def test_maintain_removes_a_dead_place_after_its_days_of_grace(rebuilt, monkeypatch):
    old = rebuilt.live.paths
    rebuilt.switch()
    maintained(rebuilt, NEXT, GRACE.days - 1, monkeypatch)
    assert old.table.exists()
    maintained(rebuilt, NEXT, GRACE.days + 1, monkeypatch)
    assert not any(each.exists() for each in (old.table, old.version))
    fact = read_live(rebuilt.paths())
    assert (fact.folder, fact.dead) == ("v2", ())
    assert rows(rebuilt.paths()) == [*range(6)]
    with fails(RebuildRefused, "former_removed"):
        rebuilt.back()


def test_no_switch_is_taken_back_to_a_place_that_maintain_has_begun_to_remove(rebuilt, monkeypatch):
    """A folder is removed file by file: the kill left half of the checkpoint."""
    old = rebuilt.live.paths
    rebuilt.switch()

    def killed(folder: UPath):
        shutil.rmtree(str(folder / "spark" / "state"))
        raise Killed

    with monkeypatch.context() as active:
        active.setattr(care, "remove_folder", killed)
        with pytest.raises(Killed):
            maintained(rebuilt, NEXT, GRACE.days + 1, active)
    assert old.version.exists()
    with fails(RebuildRefused, "former_removed"):
        rebuilt.back()
    maintained(rebuilt, NEXT, GRACE.days + 1, monkeypatch)
    assert not any(each.exists() for each in (old.table, old.version))


def test_a_publish_that_a_switch_overtakes_never_shows_the_former_table(rebuilt, monkeypatch):
    """It has read its verdict before, and another publish has shown the new table meanwhile."""
    old, verdict = rebuilt.live.paths, rebuilt.live.cursor.judged_table_version
    verdict_read = publication.published_table.target

    def overtaken(paths: Paths, judged: int) -> Target:
        monkeypatch.setattr(published_table, "target", verdict_read)
        wanted = verdict_read(paths, judged)
        rebuilt.switch()
        published_table.move(rebuilt.paths(), rebuilt.side.cursor.judged_table_version, refuse_dead)
        return wanted

    monkeypatch.setattr(published_table, "target", overtaken)
    [event] = publication.publish(old, SPEC, Announced())
    assert (event.number, event.table_version) == (1, verdict)
    shown = deltalake.DeltaTable(str(old.published_table)).to_pyarrow_table().column("n")
    assert sorted(shown.to_pylist()) == [*range(6)]


def test_accounts_of_a_place_to_which_one_may_go_back_do_not_expire(rebuilt):
    row = {"pipeline": SPEC.name, "generation": "g1", "batch_id": 9}
    audited = {"audited_at": datetime.now(UTC)}
    ops_tables.append(rebuilt.paths().root, "batches", [row | audited])
    rebuilt.switch()
    paths, later = rebuilt.paths(), datetime.now(UTC) + timedelta(days=500)
    where = expired(paths, SPEC.name, rebuilt.live.settings, later)["batches"]
    ops_tables.remove(paths.root, "batches", where)
    kept = Drains.of(rebuilt.root, NEXT).accounted()
    assert [batch for batch, generation in kept if generation == "g1"] == [*range(5), 9]


def test_of_two_who_begin_a_rebuild_one_does(rebuilt):
    discard(rebuilt.live.paths)()
    begin(rebuilt.live.paths, NEXT, "topic-1", "one")
    with fails(RebuildRefused, "begun_meanwhile"):
        begin(rebuilt.live.paths, NEXT, "topic-1", "another")
    begun = read_begun(rebuilt.live.paths)
    assert (begun.who, begun.folder) == ("one", "v2")


def test_maintain_leaves_the_place_of_a_rebuild_whose_switch_a_reset_gave_up(rebuilt, monkeypatch):
    """The switch is of a newer Sluice, so nobody here completes it; the rebuild may go on."""
    with monkeypatch.context() as active:
        kill_at(active, 0)
        with pytest.raises(Killed):
            rebuilt.switch()
    journal = rebuilt.live.paths.journal
    journal.write_text(json.dumps(json.loads(journal.read_text()) | {"change": "a newer one"}))
    reset(SPEC, rebuilt.live.settings).execute()
    paths, later = rebuilt.paths(SPEC), datetime.now(UTC) + timedelta(days=30)
    begun = read_begun(paths)
    assert begun.folder not in [each.folder for each in care.dead_places(paths, later)]


def test_maintain_leaves_a_dead_table_that_consumers_still_read(rebuilt, monkeypatch):
    published_table.move(rebuilt.live.paths, rebuilt.live.cursor.judged_table_version, refuse_dead)
    rebuilt.switch()
    maintained(rebuilt, NEXT, GRACE.days + 1, monkeypatch)
    assert rebuilt.live.paths.table.exists(), "it is what the published table shows"


def older_switch(rebuilt: Rebuilt) -> None:
    """What an older Sluice left behind its switch: one table, and no name of a place."""
    live = rebuilt.paths().live
    live.write_text(
        '{"format_version": 1, "version": 1, "since": "2026-03-01T00:00:00Z", "table_version": 5,'
        ' "batch": 4, "before": {"version": 7, "generation": "g0", "table_id": "t",'
        ' "table_version": 3}}'
    )


def test_a_root_that_an_older_sluice_switched_goes_on_is_rebuilt_and_not_taken_back(rebuilt):
    older_switch(rebuilt)
    former = SPEC.model_copy(update={"state": State(version=7)})
    paths = rebuilt.paths(SPEC)
    assert (paths.table, paths.version) == (rebuilt.live.paths.table, rebuilt.live.paths.version)
    assert read_identity(paths) is not None
    with fails(RebuildRefused, "older_switch"):
        switch_back(SPEC, former, rebuilt.root, "back")
    rebuilt.switch()
    assert_drains(rebuilt, NEXT, "g2", 5)
    rebuilt.back()
    assert_drains(rebuilt, SPEC, "g1", 4)


def test_what_an_older_sluice_left_half_done_is_refused_in_words(rebuilt):
    note = rebuilt.paths().above / "switching.json"
    note.write_text("{}")
    with fails(CheckpointBroken, "older_switch"):
        read_identity(rebuilt.live.paths)
    with fails(CheckpointBroken, "older_switch"):
        maintain(SPEC, rebuilt.live.settings)


def test_a_discard_removes_nothing_of_a_rebuild_that_another_has_begun_since(rebuilt):
    shown = discard(rebuilt.live.paths)
    discard(rebuilt.live.paths)()
    begin(rebuilt.live.paths, NEXT, "topic-1", "ben")
    theirs = beside_paths(rebuilt.live.paths, NEXT)
    with pytest.raises(LeaseLost):
        shown()
    assert read_begun(rebuilt.live.paths).who == "ben"
    assert theirs.version.exists()


@pytest.mark.parametrize("torn", [b"{", b'{"\xff\xfe": 1}'])
def test_a_note_of_what_is_rebuilt_that_is_torn_is_told_and_discarded(rebuilt, torn):
    rebuilt.side.paths.rebuild.write_bytes(torn)
    with pytest.raises(CheckpointBroken):
        read_begun(rebuilt.live.paths)
    discard(rebuilt.live.paths)()
    assert read_begun(rebuilt.live.paths) is None
    assert beside_paths(rebuilt.live.paths, NEXT).version.name == "v2.2", "never what was used"


def test_a_torn_note_of_a_later_rebuild_does_not_hold_the_way_back_up(rebuilt):
    rebuilt.switch()
    rebuilt.side.paths.rebuild.write_bytes(b"{")
    rebuilt.back()
    assert_drains(rebuilt, SPEC, "g1", 4)
    rebuilt.complete(SPEC)


def test_a_live_json_that_is_no_text_is_told_as_a_torn_one(rebuilt):
    rebuilt.switch()
    paths = rebuilt.paths()
    paths.live.write_bytes(b'{"version": 2, "folder": "\xff"}')
    with pytest.raises(CheckpointBroken):
        read_live(paths)
    paths.live.unlink()
    assert read_live(paths) is not None


def test_of_two_copies_with_one_number_the_later_is_live_and_no_number_is_given_twice(rebuilt):
    """A switch that a reset gave up has left its copy."""
    rebuilt.switch()
    paths = rebuilt.paths()
    fact = read_live(paths)
    assert fact is not None
    for folder, before in (("v0", True), ("v9", False)):
        other = fact.since + timedelta(hours=-1 if before else 1)
        (paths.above / folder).mkdir()
        copy = fact.model_copy(update={"folder": folder, "since": other})
        copy.write(paths.above / folder / "live.json")
    paths.live.unlink()
    again = read_live(paths)
    assert again.folder == "v9"
    fact.write(paths.live)
    copy.model_copy(update={"number": 7}).write(paths.above / "v9" / "live.json")
    assert following(paths, 3, Place("v3", "t")).number == 8


def test_a_torn_note_of_a_rebuild_is_told_with_what_helps_also_where_no_place_is_live_yet(rebuilt):
    rebuilt.side.paths.rebuild.write_text("{")
    with fails(CheckpointBroken, "rebuild_unreadable", pipeline="sales_hourly"):
        Paths(rebuilt.root, NEXT)
