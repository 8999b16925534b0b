"""The published table is moved on so that a stream reads every append: what a reader of its log gets is held to the pipeline's table, whatever was done to it and wherever a publish was killed."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import deltalake
import pytest
from hypothesis import example, given, settings, strategies as st

from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish
from spark_jobs.storage import failpoint
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.published.table import behind, versions_shown
from tests.harness.log_stream import Stream
from tests.harness.long_form import examples
from tests.harness.moments import EPOCH
from tests.harness.roots import ROOT
from tests.unit import repaired
from tests.unit.test_published_parts import commit
from tests.unit.test_published_table import Root


class Story:
    """A table of numbers, none of which comes twice, with one stream over what is published."""

    def __init__(self, folder: Path) -> None:
        self.root = Root(folder)
        self.number = 0
        self.judged = 0
        self.good: set[int] = set()
        self.was: dict[int, int] = {}
        """A number that was mended or repaired -> the number that was appended."""
        self.appended: set[int] = set()
        self.do("append", 2)
        self.do("verdict", 0)
        self.root.move()
        self.stream = Stream(self.root.published)
        self.streamed: Counter[int] = Counter()
        self.entries = deltalake.DeltaTable(self.root.published).version()

    def rows(self, path: str, version: int | None = None) -> set[int]:
        read = deltalake.DeltaTable(path, version=version).to_pyarrow_table()["n"].to_pylist()
        assert len(set(read)) == len(read)
        return set(read)

    def fresh(self) -> int:
        self.number += 1
        return self.number

    def do(self, what: str, which: int) -> None:
        if what == "append":
            numbers = [self.fresh() for _ in range(which)]
            self.root.append(*numbers)
            if self.number > 2:
                self.appended.update(numbers)
        elif what == "optimize":
            self.root.table.optimize.compact()
        elif what == "restore":
            if self.root.version:
                self.root.table.restore(max(0, self.root.version - which))
        elif what == "verdict":
            self.judged = self.root.version
            self.good |= self.rows(self.root.live)
        elif what in {"publish", "killed"}:
            self.do("verdict", 0)
            self.publish(killed=what == "killed")
        elif what == "repair":  # as a swap does
            had = self.rows(self.root.live, self.judged) & self.rows(self.root.live)
            self.mend("update", had, which, sluice_repair="r", sluice_passed=self.judged)
        else:
            self.mend(what, self.mendable(), which)

    def mendable(self) -> set[int]:
        return self.rows(self.root.live)

    def mend(self, what: str, among: set[int], which: int, **note: Any) -> None:
        if not among:
            return
        old = sorted(among)[which % len(among)]
        one = f"n = {old}"
        said = deltalake.CommitProperties(custom_metadata={"userMetadata": json.dumps(note)})
        if what == "delete":
            self.root.table.delete(one, commit_properties=said)
        else:
            self.was[new := self.fresh()] = self.was.get(old, old)
            updates = {"n": str(new)}
            self.root.table.update(updates=updates, predicate=one, commit_properties=said)

    def publish(self, *, killed: bool) -> None:
        failpoint.ACTIVE.update({"showing": "raise"} if killed else {})
        try:
            self.root.move()
        except failpoint.Failure:
            assert behind(self.root.paths, self.judged)
        finally:
            failpoint.ACTIVE.clear()
        if not killed:
            assert not self.root.move(), "a second publish adds nothing"
            assert self.rows(self.root.published) == self.rows(self.root.live)
        self.look()
        self.streamed.update(self.stream.read("n"))

    def look(self) -> None:
        """Each new entry shows a version of the table, and no row that has never passed."""
        log = Path(self.root.published, "_delta_log")
        while self.entries < deltalake.DeltaTable(self.root.published).version():
            self.entries += 1
            entry = self.entries
            said = json.loads((log / f"{entry:020}.json").read_text().splitlines()[0])
            note = json.loads(said["commitInfo"]["userMetadata"])
            shown = self.rows(self.root.published, entry)
            wanted = self.rows(self.root.live, note["version"])
            for version in note["ahead"]:
                earlier, now = (self.rows(self.root.live, version - each) for each in (1, 0))
                wanted = (wanted | (now - earlier)) - (earlier - now)
            assert shown == wanted
            assert shown <= self.good
            assert {note["version"], *note["ahead"]} <= versions_shown(self.root.paths, EPOCH)


APPEND, OPTIMIZE, RESTORE = (
    st.tuples(st.just(what), st.integers(1, 3)) for what in ("append", "optimize", "restore")
)
MEND = st.tuples(st.sampled_from(["update", "delete"]), st.integers(0, 5))
REPAIR = st.tuples(st.sampled_from(["repair", "verdict"]), st.integers(0, 5))
PUBLISH = st.tuples(st.sampled_from(["publish", "killed"]), st.just(0))


@given(
    acts=st.lists(
        st.one_of(APPEND, APPEND, OPTIMIZE, RESTORE, MEND, MEND, REPAIR, PUBLISH), max_size=12
    )
)
@example(acts=[("append", 1), ("update", 0), ("update", 1)])
@settings(max_examples=examples(25), deadline=None)
def test_each_entry_is_a_version_of_the_table_without_rows_that_were_mended(acts, tmp_path_factory):
    story = Story(tmp_path_factory.mktemp("story") / ROOT)
    for act in [*acts, ("publish", 0)]:
        story.do(*act)
    if not any(what == "restore" for what, _ in acts):
        assert not [number for number, times in story.streamed.items() if times > 1]


class Elsewhere(Story):
    """Persons mend only what is published, and nothing joins its files with those of new rows."""

    def mendable(self) -> set[int]:
        return self.rows(self.root.live) & self.rows(self.root.published)


@given(acts=st.lists(st.one_of(APPEND, APPEND, MEND, REPAIR, PUBLISH), max_size=12))
@example(
    acts=[
        *(("append", 1), ("update", 0), ("append", 1), ("verdict", 0)),
        *(("repair", 3), ("update", 0)),
    ]
)
@settings(max_examples=examples(25), deadline=None)
def test_a_stream_reads_every_append_once_beside_repairs_and_mends_of_what_it_has_read(
    acts, tmp_path_factory
):
    story = Elsewhere(tmp_path_factory.mktemp("story") / ROOT)
    for act in [*acts, ("publish", 0)]:
        story.do(*act)
    read = Counter(story.was.get(number, number) for number in story.streamed.elements())
    assert read == Counter(story.appended)


@pytest.fixture
def told(tmp_path) -> repaired.Root:
    """Batches 0 to 5 have passed and were published."""
    made = repaired.Root(tmp_path / ROOT)
    made.drain(0, 5)
    publish(made.paths, repaired.SPEC, Announced())
    return made


def test_a_drain_and_a_repair_of_its_rows_in_one_publish_give_a_stream_the_drain_once(told):
    """The repair replaces a row of the drain's own file, and one that was published before."""
    stream = Stream(told.paths.published_table)
    told.drain(6, 6)
    one, other = repaired.row(6, "a"), repaired.row(1, "b")
    told.stage("r1", [(one, one | {"sales": 2}), (other, other | {"sales": 3})])
    told.swap("r1")
    told.drain(7, 7)
    events = publish(told.paths, repaired.SPEC, Announced(1, "g1", 6))
    assert [event.table_version for event in events] == [told.version]
    hours = [*[repaired.hour(6)] * 3, *[repaired.hour(7)] * 3]
    assert sorted(stream.read("windowEnd")) == hours
    assert stream.passed_over == 1
    assert told.rows_of(told.paths.published_table) == told.rows()


def test_rows_of_a_failed_drain_that_a_repair_replaces_are_never_shown(told):
    stream = Stream(told.paths.published_table)
    told.drain(6, 6, red=True)
    one = repaired.row(6, "a")
    told.stage("r1", [(one, one | {"sales": 2})])
    told.swap("r1")
    told.moved(judged=6, judged_table_version=told.version)
    publish(told.paths, repaired.SPEC, Announced(1, "g1", 6))
    assert sorted(stream.read("sales")) == [1, 1, 2]
    assert stream.passed_over == 0


def test_a_stream_passes_over_repairs_that_only_add_rows(told):
    """An undo gives back rows that the stream has read; a late record has a window of its own."""
    stream = Stream(told.paths.published_table)
    told.drain(6, 6)
    told.stage("r1", [(repaired.row(6, shop), None) for shop in repaired.SHOPS])
    told.swap("r1")
    told.undo("r1")
    told.stage("r2", [(None, repaired.row(7, "a"))])
    told.swap("r2")
    told.drain(8, 8)
    publish(told.paths, repaired.SPEC, Announced(1, "g1", 6))
    assert sorted(stream.read("windowEnd")) == [repaired.hour(6)] * 3 + [repaired.hour(8)] * 3
    assert stream.passed_over == 3
    assert told.rows_of(told.paths.published_table) == told.rows()


def test_rows_that_had_passed_reach_a_stream_beside_a_persons_that_had_not(told):
    """The person's rows come before the repair that replaces rows of the drain."""
    stream = Stream(told.paths.published_table)
    told.drain(6, 6)
    told.append([repaired.row(7, "z")])
    one = repaired.row(6, "a")
    told.stage("r1", [(one, one | {"sales": 2})])
    told.swap("r1")
    assert told.cursor.judged_table_version == told.version - 2
    told.drain(7, 7)
    publish(told.paths, repaired.SPEC, Announced(1, "g1", 6))
    assert Counter(stream.read("windowEnd")) == {repaired.hour(6): 3, repaired.hour(7): 4}
    assert stream.passed_over == 1
    assert told.rows_of(told.paths.published_table) == told.rows()


def test_a_publish_that_was_killed_between_two_entries_goes_on_from_there(tmp_path, monkeypatch):
    root = Root(tmp_path / ROOT)
    root.append(1)
    root.move()
    stream = Stream(root.published)
    root.append(2)
    root.table.update(updates={"n": "10"}, predicate="n = 1")
    root.append(3)
    with monkeypatch.context() as patch:
        patch.setattr(failpoint, "ACTIVE", {"showing": "raise"})
        with pytest.raises(failpoint.Failure):
            root.move()
    assert root.shown() == [1, 2]
    assert stream.read("n") == [2]
    assert root.move()
    assert root.shown() == [2, 3, 10]
    assert (stream.read("n"), stream.passed_over) == ([3], 1)


def test_publishes_at_once_show_each_entry_once(tmp_path):
    root = Root(tmp_path / ROOT)
    root.append(1)
    root.move()
    stream = Stream(root.published)
    for number in range(2, 6):
        root.append(number)
        root.table.update(updates={"n": "n - 10"}, predicate="n < 2")
    versions = [root.version, root.version - 3] * 8
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(root.move, versions))
    notes = [each[0]["commitInfo"]["userMetadata"] for each in root.commits()]
    assert len(set(notes)) == len(notes)
    assert stream.read("n") == [2, 3, 4, 5]
    assert root.shown() == [-39, 2, 3, 4, 5]


def test_of_a_table_whose_drains_replace_rows_no_version_amid_a_drain_is_shown(told):
    replacing = repaired.SPEC.model_copy(update={"output_mode": "complete"})
    told.drain(6, 6)
    one = repaired.row(1, "a")
    told.stage("r1", [(one, one | {"sales": 2})])
    told.swap("r1")
    before = Log.of(told.paths.published_table).newest
    publish(told.paths, replacing, Announced(1, "g1", 6))
    assert Log.of(told.paths.published_table).newest == before + 1
    assert told.rows_of(told.paths.published_table) == told.rows()


def test_new_files_whose_statistics_were_written_again_are_new_to_a_stream(tmp_path):
    """ANALYZE TABLE ... COMPUTE DELTA STATISTICS of Spark adds a file that is there."""
    root = Root(tmp_path / ROOT)
    root.append(1)
    root.move()
    stream = Stream(root.published)
    root.append(2)
    log = Log.of(root.paths.table)
    added = [action["add"] for action in log.commit(1) if "add" in action]
    log.put(2, [*commit(), *({"add": file | {"dataChange": False}} for file in added)])
    assert root.move()
    assert (stream.read("n"), root.shown()) == ([2], [1, 2])
