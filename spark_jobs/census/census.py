"""The census: every file under a root, opened, and what is found told by place."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from pyarrow.types import is_nested

from spark_jobs.census.content import RECORD, Carried, Condition, Told, count, tables
from spark_jobs.census.kinds import kind_of
from spark_jobs.census.words import Words, literals
from spark_jobs.errors import PipelineUnknown, SluiceError
from spark_jobs.registry import find as registry
from spark_jobs.spec.analysis.columns import columns_of, origins_of
from spark_jobs.spec.archive import PREFIX, archive_name
from spark_jobs.storage.root.live_place import LIVE
from spark_jobs.storage.root.paths import CHECKPOINTS
from spark_jobs.table.entry import LOG
from spark_jobs.values.python_times import rows_of

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Pipeline

VALUES = ("value", "headers")
MOST_VALUES = 1000
"""Different values that are looked for where no condition can be asked."""
DEAD = "7 days, then `sluice maintain`"
_NOT_PLAIN = (bool, list, dict, type(None))


class Found(NamedTuple):
    """What a place has."""

    place: str
    """A folder below the root."""
    kind: str
    entries: int
    """Rows, records, lines of a log and entries of a state."""
    files: int
    stays: str
    """Until when, and what removes it."""


class Answer(NamedTuple):
    """What a census has found."""

    found: tuple[Found, ...]
    unread: tuple[str, ...]
    """Each file that could not be read, and why; and what else was not looked for."""
    opened: int
    """Files."""


class Census:
    """A census of one root, for a condition over decoded fields or for a text of bytes."""

    def __init__(self, root: UPath, condition: Condition | None, text: str = "") -> None:
        self._root, self._condition = root, condition
        self._flat = condition is None or not any(map(is_nested, condition.types.values()))
        """Whether the condition finds a text in each normal form of Unicode."""
        self._dead = {*_dead_folders(root)}
        self._of_pipeline = dict[str, Carried]()
        self._keys = set[str]()
        """What tables beside the stream call columns of the condition."""
        self._unread = dict[str, None]()
        self._as_bytes = Counter[str]()
        """Folder -> its malformed records, which no condition can be asked of."""
        self._words = Words.of_bytes(text)

    def answer(self, watched: Callable[[list[str]], Iterable[str]] = iter) -> Answer:
        """Opens every file, for a condition those of Parquet twice: first for the values of the
        rows that it holds for, which are then looked for everywhere. `watched` sees each go by.
        """
        files = sorted(self._files())
        if self._condition is not None:
            self._words = self._values(self._condition, watched(files))
        found: dict[tuple[str, str], Found] = {}
        for path in watched(files):
            if number := self._count(path):
                place, kind = _place(path), kind_of(path)
                of = Found(place, kind.name, 0, 0, kind.stays)
                if place in self._dead:
                    of = of._replace(kind=f"dead place: {kind.name}", stays=DEAD)
                of = found.get((place, of.kind), of)
                found[place, of.kind] = of._replace(entries=of.entries + number, files=of.files + 1)
        for folder, number in self._as_bytes.items():
            why = f"{folder}: {number:,} malformed records are searched as bytes alone"
            self._unread[why] = None
        return Answer(tuple(sorted(found.values())), tuple(self._unread), len(files))

    def _files(self) -> Iterator[str]:
        """Not what a link to a folder leads to: a published table's rows are its table's."""
        for each, of in self._root.fs.find(self._root.path, detail=True).items():
            path = each.removeprefix(self._root.path).lstrip("/")
            if not (of.get("islink") and self._root.fs.isdir(each)):
                yield path
            elif not Path(each).resolve().is_relative_to(Path(self._root.path).resolve()):
                self._unread[f"{path}: a link to a folder elsewhere"] = None

    def _values(self, condition: Condition, files: Iterable[str]) -> Words:
        values = {repr(each): each for each in literals(condition.sql)}  # 12.5 is no 12.50
        for path in (each for each in files if LOG not in each):
            with suppress(Exception):  # said where the file is counted
                content = (self._root / path).read_bytes() if len(values) < MOST_VALUES else b""
                for rows in tables(content) if content[:4] == b"PAR1" else ():
                    for _, row in self._of_condition(path, rows, condition):
                        plain = (each for each in row if not isinstance(each, _NOT_PLAIN))
                        values |= {repr(each): each for each in plain}
        if len(values) >= MOST_VALUES:
            self._unread[
                f"more than {MOST_VALUES} different values match: statistics, state and reports "
                "were not searched for all; narrow the condition"
            ] = None
        carried = (own for each in self._of_pipeline.values() for own in each.values())
        return Words.of(values.values(), {*condition.names, *self._keys}.union(*carried))

    def _count(self, path: str) -> int:
        found, anywhere = 0, kind_of(path).values_anywhere
        try:
            content = (self._root / path).read_bytes()
            found = count(content, self._words, partial(self._rows, path), anywhere=anywhere)
        except FileNotFoundError:
            return 0  # removed meanwhile: a run goes on
        except Exception as error:  # noqa: BLE001 - whatever a damaged file makes its reader raise
            self._unread[f"{path}: {type(error).__name__}"] = None
        return found or int(self._words.in_text(unquote(path)))

    def _rows(self, path: str, rows: pa.Table) -> int:
        """By the condition, and by the words in whatever else a row has."""
        told, asked = dict[int, tuple[Any, ...]](), False
        if self._condition is not None and LOG not in path:
            try:
                told = dict(self._of_condition(path, rows, self._condition))
                has = {*rows.column_names, *_parts(path)}
                asked = all(has & {*own} for own in self._carried(path).values())
            except pa.ArrowException:
                self._not_compared(path, "one has another type than the field")
        found = {number for number, values in told.items() if values}
        anywhere = kind_of(path).values_anywhere
        for number, row in enumerate(_texts(rows) if asked else rows_of(rows)):
            if number in told and self._flat:  # asked by its fields: 17 may be another's
                for name in VALUES:
                    row.pop(name, None)
            if number not in found and self._words.in_tree(row, anywhere=anywhere):
                found.add(number)
        if undecoded := {*self._own_records(path, rows)} - {*told} - found:
            self._as_bytes[path.rpartition("/")[0]] += len(undecoded)
        return len(found)

    def _own_records(self, path: str, rows: pa.Table) -> list[int]:
        """The numbers of the rows that are records of the condition's topic."""
        if self._condition is None or not {*rows.column_names} >= RECORD:
            return []
        topic = self._condition.topic
        if "topic" in rows.column_names:
            names = enumerate(rows["topic"].to_pylist())
            return [number for number, name in names if name in (None, topic.name)]
        archives = {topic.name, archive_name(topic.place).removeprefix(PREFIX)}
        own = path.startswith("archive/") and path.split("/")[1].partition(".v")[0] in archives
        return [*range(rows.num_rows)] if own else []

    def _of_condition(self, path: str, rows: pa.Table, condition: Condition) -> Iterator[Told]:
        if {*rows.column_names} >= RECORD:
            own = self._own_records(path, rows)
            found = condition.of_records(rows.take(pa.array(own, pa.int64()))) if own else ()
            yield from ((own[number], values) for number, values in found)
            return
        for name, value in _parts(path).items():
            if name not in rows.column_names:
                rows = rows.append_column(name, pa.array([value] * rows.num_rows, pa.string()))
        yield from condition.of_columns(rows, self._carried(path))

    def _carried(self, path: str) -> Carried:
        return self._columns_of(path.split("/")[1].partition(".")[0] if "/" in path else "")

    def _columns_of(self, pipeline: str) -> Carried:
        """By today's spec, and by the pipelines whose rows it reads; else by the fields' names."""
        if pipeline in self._of_pipeline:
            return self._of_pipeline[pipeline]
        names = self._condition.names if self._condition else ()
        found = {name: [name] for name in names}
        self._of_pipeline[pipeline] = {name: (name,) for name in names}
        try:
            self._follow(registry.load(pipeline), found)
        except PipelineUnknown:  # it is no pipeline's: another table of the root
            pass
        except SluiceError as error:
            self._not_compared(pipeline, f"its spec does not load ({error.code})")
        told = {name: tuple(dict.fromkeys(own)) for name, own in found.items()}
        self._of_pipeline[pipeline] = told
        return told

    def _follow(self, spec: Pipeline, found: dict[str, list[str]]) -> None:
        """Add to what is found of each field the columns that the steps carry it in."""
        for side in (each for topic in spec.inputs for each in topic.beside if each.pipeline):
            for name, columns in self._columns_of(side.pipeline or "").items():
                found[name] += columns
        entering = {column: name for name, own in found.items() for column in own}
        if columns_of(spec) is None:
            self._not_compared(spec.name, "a step makes columns that only Spark knows")
        for column, of in origins_of(spec).items():
            for each in (each for each in of if each.column in entering):
                if each.how == "identity":
                    found[entering[each.column]].append(column)
                elif column not in entering:
                    self._not_compared(spec.name, f"{column} is computed from {each.column}")
        carrying = {column for own in found.values() for column in own}
        for by in (step.found_by(side.name) for step in spec.steps for side in step.sides):
            self._keys |= {key for key, column in by.items() if column in carrying}

    def _not_compared(self, of: str, why: str) -> None:
        self._unread[f"{of}: not all columns are compared: {why}"] = None


def _place(path: str) -> str:
    parts = path.split("/")
    depth = 3 if parts[0] == "checkpoints" and len(parts) > 3 else 2  # noqa: PLR2004 - a place below
    return "/".join(parts[: min(depth, len(parts) - 1)]) or "."


def _texts(rows: pa.Table) -> Iterator[dict[str, object]]:
    """The rows without plain numbers and times: the condition has asked for these."""
    kinds = (pa.types.is_primitive, pa.types.is_decimal)
    kept = [field.name for field in rows.schema if not any(is_(field.type) for is_ in kinds)]
    yield from rows_of(rows.select(kept))


def _parts(path: str) -> dict[str, str]:
    """Column -> value, of the folders of a partitioned table."""
    found = (each.partition("=") for each in path.split("/")[:-1])
    return {name: unquote(value) for name, sign, value in found if sign}


def _dead_folders(root: UPath) -> Iterator[str]:
    """Checkpoint and table of each place that is live no more, by their paths below the root."""
    above = root / CHECKPOINTS
    for pipeline in above.iterdir() if above.is_dir() else ():
        with suppress(OSError, ValueError):  # torn, or none: then nothing is known to be dead
            for each in json.loads((pipeline / LIVE).read_text()).get("dead", ()):
                yield f"{CHECKPOINTS}/{pipeline.name}/{each['folder']}"
                yield from (f"{kind}/{each['table']}" for kind in ("tables", "archive", "staging"))
