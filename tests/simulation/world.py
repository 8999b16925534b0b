"""World: one root with real Delta logs, the commands of the product over it, and who listens."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from deltalake.exceptions import DeltaError

from spark_jobs.admin.accept import accept
from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.maintain import maintain
from spark_jobs.admin.rebuild.beside import begin, beside_paths, discard
from spark_jobs.admin.rebuild.needs import read_to
from spark_jobs.admin.rebuild.plan import RebuildPlan, plan_rebuild, refuse_lost
from spark_jobs.admin.rebuild.switch import (
    behind,
    plan_back,
    refuse_lost as lost_back,
    switch,
    switch_back,
)
from spark_jobs.admin.reset import reset
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.lease import holder, lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import Cursor, read_cursor
from spark_jobs.errors import TableContended
from spark_jobs.excise.note import end
from spark_jobs.messages.event import Event
from spark_jobs.repair.swap import swap
from spark_jobs.repair.undo import undo
from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish
from spark_jobs.runs.repartition import repartition
from spark_jobs.settings.installation import Settings
from spark_jobs.source import sources as union
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.live_place import live_version
from spark_jobs.storage.root.paths import Paths, checkpoints
from spark_jobs.table.delta import door
from tests.simulation import beside, excising, keyed as of_a_key, person as of_spark
from tests.simulation.drain import CHECK, Drain
from tests.simulation.log import files, is_table
from tests.simulation.model import BAD_SALES, Edit, Found, Key, Model, Rows, Swap
from tests.simulation.places import FOLDER, ROOTS, arrived, one_write
from tests.simulation.rows import EVENING, of_day, rows_in
from tests.simulation.stage import Plan, planned, stage
from tests.simulation.topic import Topic
from tests.unit.repaired import SPEC, Root, hour

FIRST = 5
"""The last of the batches that a root has at the beginning."""
TRIES = 15
"""Batches of a rebuild, some of which bring bad rows."""
NEWER = 99
"""A form that this version does not know."""
_MADE: dict[bool, TemporaryDirectory[str]] = {}
"""Roots with their first batches, made once and copied: whose table follows a key, or not."""


class World:
    """A root, what its commands do, and what consumers have been told."""

    def __init__(
        self, folder: Path, bad: frozenset[int], *, remote: bool, keyed: bool = False
    ) -> None:
        """`folder` is below FOLDER. `remote`: the product finds it in an object store. `keyed`: its
        table follows a key.
        """
        self.folder, self.remote, self.keyed = folder, remote, keyed
        root = f"s3://{folder.relative_to(FOLDER)}" if remote else str(folder)
        self.settings = Settings(root, "broker:9092", Path("jars"), "local[1]", "1g")
        self.model = Model(bad, keyed=keyed)
        self.topic = Topic()
        self.drains = 0
        self.airflow: list[Event] = []
        """The events that consumers had, in their order."""
        self.by_day: dict[date, Rows] = {}
        """What a consumer has of each day that it was told of."""
        self.touched: set[Key] = set()
        """Rows that a person has deleted: no consumer is told."""
        self.failed_passed = False
        """Whether the cursor has ever said that a row passed which failed its check."""
        self.older_note = ""
        """The note of a change, as this version wrote it, while there is one of a newer version."""
        self.closed = False
        """Whether any batch was planned by Sluice."""
        self.publishes = 0
        """How many publish now."""
        self.restores = 0
        """How often a person has restored the table."""
        self.moves = 0
        """How often a person began to let another place drain."""
        self.accepted: set[Key] = set()
        """Rows that failed, and that a person began to accept."""
        self.excised: set[int] = set()
        """Offsets of records that a person began to take out."""

    @classmethod
    def begun(
        cls, folder: Path, bad: frozenset[int], *, remote: bool, keyed: bool = False
    ) -> World:
        """One with its first batches, all of which are good."""
        if keyed not in _MADE:
            made = TemporaryDirectory(prefix=f"{ROOTS}first-", dir=FOLDER)
            first = cls(Path(made.name), frozenset(), remote=False, keyed=keyed)
            if not keyed:
                beside.begin(first.folder)
                Root(Path(made.name)).identified("g1", **beside.known(first.spec, first.paths))
            with first.with_topic():
                for _ in range(FIRST + 1):
                    first.drain()
            _MADE[keyed] = made
        shutil.copytree(_MADE[keyed].name, folder)
        world = cls(folder, bad, remote=remote, keyed=keyed)
        world.model = world.model.drained(FIRST + 1, world.topic.seen)
        return world

    # What is there

    @property
    def spec(self) -> Pipeline:
        """That of the state version which drains now."""
        return self.spec_of(live_version(checkpoints(self.settings.root, SPEC.name)) or 1)

    def spec_of(self, number: int) -> Pipeline:
        """That of a state version: it and each NEXT after it."""
        of = of_a_key.SPEC if self.keyed else beside.reading(self.folder)
        return of.model_copy(update={"state": of.state.model_copy(update={"version": number})})

    @property
    def paths(self) -> Paths:
        """As they are now: a command has its own."""
        return Paths(self.settings.root, self.spec)

    def rows(self, at: int | None = None) -> Rows:
        """The rows of the table, now or at a version."""
        return rows_in(self.folder / "tables" / self.paths.table.name, at)

    def published(self) -> Rows:
        """What consumers read; nothing before the first publish."""
        return rows_in(self.folder / "published" / SPEC.name)

    @property
    def has_table(self) -> bool:
        return is_table(self.folder / "tables" / self.paths.table.name)

    @property
    def under_way(self) -> bool:
        """Whether a change has begun and not ended: whoever takes the lease next completes it."""
        journal = self.paths.journal
        return journal.exists() and not json.loads(journal.read_text()).get("ended")

    def read_to(self) -> int:
        """The offset that the next batch reads."""
        return Positions().count(read_to(self.paths))

    def began(self) -> int:
        """The offset that the live place's first batch reads."""
        noted = Checkpoint(self.paths.checkpoint).folder / "sources" / "0" / "0"
        return int(json.loads(noted.read_text().splitlines()[-1])["sales"]["0"])

    def cursor(self) -> Cursor:
        return read_cursor(self.paths.cursor)

    @contextmanager
    def with_topic(self) -> Iterator[None]:
        """Within the block the product finds the topic."""
        with patch.object(union, "kafka", lambda *_: self.topic):
            yield

    @contextmanager
    def remembered(self) -> Iterator[None]:
        """Within the block it sees what the cursor says."""
        put = Cursor.put

        def seen(cursor: Cursor, path: Any, held: Any) -> None:
            with suppress(FileNotFoundError):  # a person's VACUUM: it was seen when it passed
                passed = self.rows(cursor.judged_table_version)
                self.failed_passed |= BAD_SALES in passed.values()
            put(cursor, path, held)

        with patch.object(Cursor, "put", seen):
            yield

    # Commands

    def drain(self, *, closes: bool = False) -> int:
        """The number of its last batch."""
        self.closed |= closes
        return self._drain(self.spec, self.paths, closes=closes)

    def _drain(self, spec: Pipeline, paths: Paths, *, closes: bool = False) -> int:
        self.drains += 1
        run_id = f"drain-{self.drains}"
        return Drain(spec, paths, self.settings, self.model, self.topic, run_id, closes).run()

    def repartition(self, stores: int) -> list[str]:
        """Move the state; what is said of it."""
        return list(repartition(self.spec, self.settings, stores))

    def rebuild(self, done: list[int]) -> None:
        """Compute all beside, and switch to it. Behind that `done` has the last batch."""
        spec, live = self.spec, self.paths
        following = self.spec_of(spec.state.version + 1)

        def looked() -> RebuildPlan:
            plan = plan_rebuild(spec, following, self.settings)
            refuse_lost(spec, plan)
            return plan

        plan = looked()
        if plan.begun is None:
            begin(live, following, plan.topic_id, "ana")
        beside = beside_paths(live, following)
        for _ in range(TRIES):
            if door.is_table(beside.table):
                door.open_table(beside.table).delete(f"sales = {BAD_SALES}")
            looked()
            last = self._drain(following, beside)
            passed = read_cursor(beside.cursor).judged == last
            if passed and not behind(live, beside):
                break
        looked()
        done.append(last)
        self.moves += 1
        switch(spec, following, self.settings.root, "switch")

    def discard(self) -> None:
        """Give up what is computed beside."""
        if remove := discard(self.paths):
            remove()

    def back(self) -> None:
        """Go back to the table of before the switch."""
        self.moves += 1
        spec = self.spec
        former = self.spec_of(spec.state.version - 1)
        lost_back(former, plan_back(spec, former, self.settings))
        switch_back(spec, former, self.settings.root, "back")

    def plan(self, repair: str, key: Key, *, changes: bool = True) -> Plan | None:
        """To give one row another number; None without such a row."""
        return planned(self.spec, self.paths, self.topic, repair, key, changes=changes)

    def stage(self, plan: Plan, made: list[Swap | Found]) -> None:
        """Compute it; then `made` is what it does to the table."""
        made[:] = [stage(plan, self.spec, self.paths, self.settings, self.topic)]

    def excise(self, name: str, offsets: tuple[int, ...]) -> None:
        """Note these records, and let the pipeline take the note over."""
        self.excised |= {*offsets}
        excising.note(self.paths.root, name, self.topic.id, offsets)
        self._take_over()

    def lift(self, name: str) -> None:
        """Refuse the records of an excision no more."""
        end(self.paths.root, SPEC.topic.place, name, "ana")
        self._take_over()

    def _take_over(self) -> None:
        spec = self.spec
        following = self.spec_of(spec.state.version + 1)
        excising.take_over(spec, following, Paths(self.settings.root, spec), "sluice excise")

    def swap(self, repair: str) -> None:
        swap(self.spec, self.settings.root, repair, f"swap of {repair}")

    def undo(self, repair: str) -> None:
        undo(self.spec, self.settings.root, repair, f"undo of {repair}")

    def rewind(self, batch: int) -> None:
        _done(rewind(self.spec, self.settings, batch))

    def reset(self) -> None:
        self.moves += 1
        _done(reset(self.spec, self.settings))

    def doctor(self) -> None:
        _done(doctor(self.spec, self.settings))

    def maintain(self) -> None:
        _done(maintain(self.spec, self.settings))

    def accept(self) -> None:
        self.accepted |= {key for key, sales in self.rows().items() if sales == BAD_SALES}
        _done(accept(self.spec, self.settings, (f"{CHECK}(n)",), "looked right", "ana"))

    def publish(self) -> None:
        """The task: it looks at Airflow's newest event, tells, and Airflow emits behind its end."""
        self.publishes += 1
        try:
            self._publish()
        finally:
            self.publishes -= 1

    def _publish(self) -> None:
        newest = max(self.airflow, key=lambda each: each.number, default=None)
        told = (newest.number, newest.generation, newest.table_version) if newest else ()
        events = publish(self.paths, self.spec, Announced(*told))
        if not events:
            return
        arrived("airflow emits")
        shown = self.published()
        for event in events:
            known = any(each.number == event.number for each in self.airflow)
            self.airflow.append(event)
            if event.table_version_before is None and not known:
                self.by_day.clear()  # another table: consumers read it as a whole
            for day in event.days:
                self.by_day[day] = of_day(shown, day)

    # What a person does without Sluice

    def correct(self, shops: tuple[str, ...]) -> None:
        """The table beside the stream has other rows of these shops."""
        beside.correct(self.folder, shops)

    def lose_live(self) -> None:
        """live.json goes; its copy in the live place's folder stays."""
        if not holder(self.paths.lease):
            self.paths.live.unlink(missing_ok=True)

    def newer(self) -> None:
        """A newer Sluice was killed amid a change, and this one is back."""
        with lease(self.paths.lease, "a newer Sluice"):
            if self.under_way and not self.older_note:
                self.older_note = self.paths.journal.read_text()
                note = json.loads(self.older_note) | {"format_version": NEWER}
                self.paths.journal.write_text(json.dumps(note))

    def older(self) -> None:
        """The version that began the change completes it, if its note is there."""
        if self.older_note and self.under_way:
            note = json.loads(self.paths.journal.read_text())
            if note["format_version"] == NEWER:
                self.paths.journal.write_text(self.older_note)
        self.older_note = ""

    def restored(self, to: int) -> None:
        """RESTORE, by mistake. A table made anew may have no such version."""
        self.restores += 1
        self._of_person(lambda found: found.version() >= to and found.restore(to))

    def delete_bad(self) -> None:
        """What the error says: the bad rows go."""
        self._of_person(lambda found: found.delete(f"sales = {BAD_SALES}"))

    def delete(self, key: Key) -> None:
        self.touched.add(key)
        end = hour(EVENING + key.offset)
        self._of_person(
            lambda found: found.delete(
                f"shop = '{key.shop}' AND `windowEnd` = "
                f"arrow_cast('{end:%Y-%m-%dT%H:%M:%SZ}', 'Timestamp(Microsecond, Some(\"UTC\"))')"
            )
        )

    def edit(self, edit: Edit) -> None:
        """UPDATE or MERGE, by plain Spark."""
        self.touched |= {edit.key, edit.applied(0)[0]}
        with one_write("delta update of a person", DeltaError):
            if self.has_table:
                of_spark.edit(self.folder / "tables" / self.paths.table.name, edit)

    def optimize(self) -> None:
        self._of_person(lambda found: found.optimize.compact())

    def vacuum(self) -> None:
        """Of all that the newest version does not have, where nobody works, and neither what
        consumers read nor what the next publish shows is older.
        """
        with one_write("delta vacuum"):
            table = self.folder / "tables" / self.paths.table.name
            shown = files(self.folder / "published" / SPEC.name)
            shown |= files(table, self.cursor().judged_table_version)
            busy = self.publishes or holder(self.paths.lease)
            if not busy and shown <= files(table):
                self._of_person(
                    lambda found: found.vacuum(
                        0, dry_run=False, enforce_retention_duration=False, full=True
                    )
                )

    def _of_person(self, act: Any) -> None:
        if not self.has_table:
            return  # a reset beside it has moved it
        try:
            act(door.open_table(self.paths.table))
        except DeltaError as error:  # Delta refuses the second of two, and a version without files
            raise TableContended(str(error)) from None


def _done(intent: Any) -> None:
    if intent.execute:
        intent.execute()
