"""Source: a folder of files as source/port.py has a source. Its one partition is 0; an offset is
the number that the list gives a record.
"""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import FilesUnfit, RecordsGone, RecordsUnreachable
from spark_jobs.files.folder import folder_of, there
from spark_jobs.files.look import Look, look, parts, refuse_changed, refuse_others
from spark_jobs.files.noted import Listed, note_of, read_listed
from spark_jobs.files.records import Asked, pieces, place, read
from spark_jobs.source.place import Place
from spark_jobs.source.port import Gap, Leaving, Sampled, SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.live_place import first_table, live_version, place_of
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.files.noted import Noted
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import Source
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Files, Pipeline
    from spark_jobs.storage.lease_view import Held

TOLD: Final = 3
"""Names in a line."""


def source(spec: Pipeline, settings: Settings, _: object, until: Positions | None) -> Source:
    return FilesSource(spec, settings.root, until)


class FilesSource(NamedTuple):
    """See Source. All that looks at the folder raises FilesUnfit."""

    spec: Pipeline
    root: str
    until: Positions | None = None

    @property
    def declared(self) -> Files:
        [topic] = self.spec.inputs
        return cast("Files", topic)

    @property
    def paths(self) -> Paths:
        return Paths(self.root, self.spec)

    @property
    def listed(self) -> Listed:
        return read_listed(note_of(self.paths)) or Listed(id="")

    def look(self) -> Look:
        seen = look(self.declared, self.root, self.listed, time.time_ns() // 1_000_000)
        return seen._replace(new=()) if self.paths.place.beside else seen

    def note(self, held: Held) -> tuple[str, ...]:
        if self.paths.place.beside:
            self._take_the_live_list(held)
        seen, told = self.look(), list[str]()
        was = seen.listed
        made = was.model_copy(update={"id": was.id or uuid.uuid4().hex})
        if lost := self._lost(seen):
            made = made.model_copy(update={"files": tuple(lost.get(e, e) for e in was.files)})
            told.append(f"gone before they were read, and left out: {_names(lost)}")
        new = tuple(parts(seen._replace(listed=made), self.declared))
        told += [_copied(each) for each in new if each.copy_of]
        made = made.model_copy(update={"files": (*made.files, *new)})
        if made != was:
            note = note_of(self.paths)
            made.behind(was if was.id else None).put(note, held)
            failpoint.at("files.noted")
        return tuple(told)

    def _take_the_live_list(self, held: Held) -> None:
        """A rebuild's NEXT reads what the live version has noted, by the same numbers. Which of
        these files went before it read them is its own.
        """
        paths, was = self.paths, self.listed
        live = live_version(paths.above)
        assert live is not None  # a rebuild is under way
        place_ = place_of(paths.above, live, first_table(self.spec))
        made = read_listed(paths.above / place_.folder / note_of(paths).name)
        if made is not None and made.id == was.id:
            files = (*was.files, *made.files[len(was.files) :])
            made = made.model_copy(update={"files": files})
        if made is not None and made != was:
            made.behind(was if was.id else None).put(note_of(paths), held)

    def state(self) -> SourceState:
        seen = self.look()
        self._lost(seen)
        refuse_others(seen, self.declared)
        size = sum(each.size for each in seen.new)
        new = f"{len(seen.new):,} new or grown files, {size:,} bytes: {_names(seen.new)}"
        rest = f"{len(seen.waiting):,} files have not settled yet: {_names(seen.waiting)}"
        return SourceState(
            seen.listed.id,
            self._first(seen),
            Positions({0: seen.listed.end}),
            timestamps="files",
            compacted=any(each.lost for each in seen.listed.files),
            to_note=(new,) if seen.new else (),
            told=(rest,) if seen.waiting else (),
        )

    @staticmethod
    def _first(seen: Look) -> Positions:
        """At the first record whose file is there; behind all if none is."""
        there = (
            each.first for each in seen.listed.files if each.readable and each.name in seen.now
        )
        return Positions({0: next(there, seen.listed.end)})

    def _lost(self, seen: Look) -> dict[Noted, Noted]:
        """Those that went before a batch had all of their records -> how they are noted then.
        Raises RecordsGone unless the spec leaves them out.
        """
        checkpoint, gone = Checkpoint(self.paths.checkpoint), seen.gone
        done = checkpoint.done()
        if self.paths.place.beside and not checkpoint.planned():
            done = self._first(seen)  # what went before a rebuild began, its plan tells
        found = {
            each: each.model_copy(
                update={"lost": True, "kept": max(0, done.next_of(0) - each.first)}
            )
            for each in seen.listed.files
            if each.records and each.name in gone and not each.lost
            and not done.passed(Place(0, each.behind - 1))
        }  # fmt: skip
        if found and self.spec.on_lost_records == "refuse":
            count = sum(each.records - each.kept for each in found.values())
            raise RecordsGone.files_went(path=self.declared.path, names=_names(found), count=count)
        return found

    def earliest(self, partitions: Iterable[int]) -> Positions:  # noqa: ARG002 - there is one
        return self._first(self.look())

    def newest(self, partitions: Iterable[int]) -> datetime | None:  # noqa: ARG002 - as above
        return max((each.at for each in self.listed.files if each.records), default=None)

    def compacted(self) -> bool:
        return any(each.lost for each in self.listed.files)

    def leaving(self, partitions: Sequence[int], times: Sequence[datetime]) -> Leaving:
        """A person removes files, and nobody knows when: as long as one is there, it stays."""
        return Leaving((self.earliest(partitions),) * len(times))

    def count(self, parts: Parts) -> int:
        listed = self.listed
        return sum(
            piece.stop - piece.first
            for ranges in parts.values()
            for each in ranges
            for piece in pieces(listed, *each)
        )

    def stays(self) -> str:
        return f"{self.declared.told('')} keep a record until a person removes its file"

    def taken(self, parts: Parts) -> Parts:
        """Whose files went, or are others."""
        listed, folder = self.listed, folder_of(self.declared, self.root)
        found = list[tuple[int, int]]()
        for piece in (p for ranges in parts.values() for r in ranges for p in pieces(listed, *r)):
            try:
                refuse_changed(folder, listed, piece.noted)
            except FilesUnfit:
                found.append((piece.first, piece.stop))
        return {0: tuple(found)} if found else {}

    def gaps(self, places: Collection[Place]) -> Mapping[Place, Gap]:
        return dict.fromkeys(places, Gap("removed", "its file went before a run had read it"))

    def refuse_gone(self, parts: Parts) -> None:
        listed, folder = self.listed, folder_of(self.declared, self.root)
        seen = self.look()
        lacking = {
            piece.noted.name: piece.noted
            for ranges in parts.values()
            for each in ranges
            for piece in pieces(listed, *each)
            if piece.noted.name not in seen.now
        }
        if lacking:
            raise RecordsUnreachable.files_went(
                pipeline=self.spec.name, path=folder, names=_names(lacking.values())
            )

    def sampled(self, parts: Parts, *, uncommitted: bool = False) -> Iterator[Sampled]:  # noqa: ARG002 - there are no transactions
        listed, folder = self.listed, folder_of(self.declared, self.root)
        for ranges in parts.values():
            for each in ranges:
                for found in read(folder, self.declared, listed, pieces(listed, *each)):
                    number, changed, name, value = found
                    yield Sampled(0, number, changed, name.encode(), value)

    def origin(self, place_: Place) -> str:
        listed, folder = self.listed, folder_of(self.declared, self.root)
        noted = listed.having(place_.offset)
        if noted is None:
            return ""
        try:
            refuse_changed(folder, listed, noted)
            return place(folder, self.declared, noted, place_.offset)
        except FilesUnfit:
            is_there = there(folder, noted.name) is not None
            return f"{noted.name}, which is not {'what it was' if is_there else 'there any more'}"

    def stream(self, spark: SparkSession) -> tuple[DataFrame, ...]:
        from spark_jobs.files.spark import kafka  # noqa: PLC0415 - Spark

        listed = self.listed
        first = self.earliest((0,)) if listed.files else Positions()
        end = self.until or Positions({0: listed.end})
        asked = self._asked(((int(first.told(0)), int(end.told(0))),))
        return (kafka(spark, spark.readStream, asked),)

    def read(self, spark: SparkSession, parts: Parts, *, uncommitted: bool = False) -> DataFrame:  # noqa: ARG002 - as above
        from spark_jobs.files.spark import kafka  # noqa: PLC0415 - Spark

        asked = self._asked(tuple(each for ranges in parts.values() for each in ranges))
        return kafka(spark, spark.read, asked)

    def _asked(self, ranges: tuple[tuple[int, int], ...]) -> Asked:
        note, most = str(note_of(self.paths)), self.spec.max_offsets_per_batch
        return Asked(self.declared, self.root, note, ranges, most)


def _copied(each: Noted) -> str:
    if not each.records:
        return f"{each.name} is a copy of {each.copy_of}, and not read"
    return f"{each.name} was {each.copy_of}, and is read from byte {each.start:,} on"


def _names(of: Iterable[Any]) -> str:
    names = sorted({each.name for each in of})
    more = f" and {len(names) - TOLD:,} more" if len(names) > TOLD else ""
    return ", ".join(names[:TOLD]) + more
