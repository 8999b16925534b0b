"""A root with ten days of rows, in ten batches: its pipeline looks something up beside the stream."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import deltalake
import pyarrow as pa
from upath import UPath

from spark_jobs.checkpoint.branch import up_to
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.notes.noted_versions import note, noted_now
from spark_jobs.ops import repairs
from spark_jobs.registry.fingerprint.environment import environment
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.repair.find.coverage import coverage
from spark_jobs.repair.find.outdated_rows import Outdated
from spark_jobs.runs.resume.marking import mark
from spark_jobs.side.pins import pin
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.ranged import ranged
from spark_jobs.spec.steps.step import Step
from spark_jobs.storage.pin import Pin, as_json
from spark_jobs.values.spans import Span
from tests.harness import roots
from tests.unit.beside import LookUp, Numbered
from tests.unit.checkpoints import Alone, begin, commit_batch, plan_batch
from tests.unit.specs import aggregate, deduplicate, pipeline

DAY = datetime(2026, 3, 1, tzinfo=UTC)
COLUMNS = pa.schema({"window_end": pa.timestamp("us", "UTC"), "shop": pa.string()})
SHOPS = {"a": range(10), "b": (2, 5, 8), "c": (5,)}
"""Shop -> the days on which it sells."""


def days(first: int, behind: int | None = None) -> Span:
    """From that day on to before the other one."""
    return Span(
        *(DAY + timedelta(days=n) for n in (first, first + 1 if behind is None else behind))
    )


def spec_of(file: Path | str, *behind: Step, by: dict[str, str] | None = None) -> Pipeline:
    found_by = {"shop_id": "shop"} if by is None else by
    look_up = LookUp(tables=(Numbered(name="shops", path=str(file)),), by=found_by)
    return pipeline(steps=(look_up, *(behind or (deduplicate(), aggregate()))))


class Marked(roots.Root):
    """Batch n has the records of day n; rows of a day are final two days later."""

    def __init__(
        self,
        folder: Path,
        *behind: Step,
        by: dict[str, str] | None = None,
        until: int = 8,
        made: bool = False,
    ) -> None:
        """`behind` are the steps behind the one that looks up."""
        self.file = folder / "shops"
        super().__init__(folder / "root", spec_of(self.file, *behind, by=by))
        self.until = DAY + timedelta(days=until)
        if made:
            return
        self.has("1", 0, 0)
        begin(UPath(str(self.paths.checkpoint)), {0: 0}, "sales")
        for shop, sold in SHOPS.items():
            self.sells(shop, *sold)
        self.of_generation("g1")
        Cursor(judged_table_version=0).write(self.paths.cursor)

    def of_generation(self, generation: str, **more: Any) -> None:
        """Write the checkpoint's identity."""
        known = {"fingerprint": fingerprint(self.spec, version("pyspark"))}
        known |= {"environment": environment(self.spec)}
        self.identified(generation, table_id=str(self.table.metadata().id), **known, **more)

    def has(self, table_id: str, first: int, last: int, *changes) -> None:
        """The table beside the stream has these versions. The last one changes these shops, each for
        ever or between two days; None is any.
        """
        self.file.write_text(json.dumps((table_id, first, last)))
        known = Path(f"{self.file}.changes")
        found = json.loads(known.read_text()) if known.exists() else {}
        found[str(last)] = [_change(each) for each in changes]
        known.write_text(json.dumps(found))

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.paths.checkpoint)

    def begin(self, killed: str = "", in_table: int = -1) -> None:
        """What a run does with the versions, unless it is killed before one of them is noted."""
        found = pin(self.checkpoint, lambda: in_table, self.spec, self.settings)
        generations = self.identity.generations
        mark(None, self.spec, self.settings, self.paths, generations, found, Alone())
        if killed != "marked":
            note(found, self.checkpoint, Alone())

    def drain(self, *batches: int) -> None:
        """A run that reads them."""
        self.begin()
        for n in batches:
            clock = int(self.until.timestamp() * 1000)
            plan_batch(self.paths.checkpoint, n, {0: n + 1}, clock, "sales")
            commit_batch(self.paths.checkpoint, n)
            own = {"pipeline": self.spec.name, "generation": self.identity.generation}
            own |= {"batch_id": n, "run_id": f"run-{n}"}
            at = {"first_event_time": DAY + timedelta(days=n, hours=11, minutes=30)}
            at |= {"last_event_time": DAY + timedelta(days=n, hours=11, minutes=40)}
            read = {"read": 1, "covered": 1, "offsets_start": json.dumps({0: n})}
            read |= {"offsets_end": json.dumps({0: n + 1})}
            read |= dict.fromkeys(("malformed", "premature", "late"), 0)
            self.put("batches", own | at | read | {"audited_at": datetime.now(UTC)})
            of = {"partition": 0, "first_offset": n, "last_offset": n, "records": 1, "late": 0}
            self.put("slices", own | at | of)
            self.moved(audited=n)

    def moved_on(self, until: int) -> None:
        """Rows before that day are final now."""
        self.until, newest = DAY + timedelta(days=until), self.cursor.audited
        clock = int(self.until.timestamp() * 1000)
        plan_batch(self.paths.checkpoint, newest, {0: newest + 1}, clock, "sales")

    def rewound(self, batch: int) -> None:
        """As a rewind to this batch leaves the checkpoint."""
        for each in ("offsets", "commits", "inputs"):
            for file in (self.paths.checkpoint / each).iterdir():
                if not up_to(batch, f"{each}/{file.name}"):
                    file.unlink()
        self.moved(audited=batch)
        self.of_generation("g2", rewound=("g1",))

    def sells(self, shop: str, *on: int) -> None:
        """The table has rows of it on these days."""
        rows = [{"window_end": DAY + timedelta(days=n, hours=12), "shop": shop} for n in on]
        made = pa.Table.from_pylist(rows, COLUMNS)
        deltalake.write_deltalake(str(self.paths.table), made, mode="append")

    def late(self, day: int) -> None:
        """A late record of this day waits."""
        own = {"pipeline": self.spec.name, "generation": "g1", "batch_id": 9, "run_id": "r"}
        own |= {"step": "late", "partition": 0, "offset": 7, "watermark_missed": self.until}
        self.put("late", own | {"event_time": DAY + timedelta(days=day, hours=11, minutes=30)})

    def repaired(self, repair_id: str, *spans: Span, inputs=None, **more) -> None:
        """A repair of these days is in the table, by these inputs, or by those of the newest run."""
        row = {"pipeline": self.spec.name, "repair_id": repair_id, "kind": "repair"}
        row |= {"generation": self.identity.generation, "state": "swapped"}
        row |= {"batch": self.cursor.audited, "swapped_at": datetime.now(UTC)}
        row |= {"ranges": [each._asdict() for each in spans]}
        row |= {"table_version": len(repairs.stored(self.paths.root, self.spec.name)) + 1}
        usual = {"shops": Pin(table_id="1", version=self.version)}
        row |= {"inputs": as_json(usual if inputs is None else inputs)}
        repairs.put(self.paths.root, [row | more])

    @property
    def version(self) -> int:
        return json.loads(self.file.read_text())[2]

    @property
    def outdated(self) -> Outdated:
        own = (ranged(self.spec), self.paths, self.identity.generations, self.cursor.audited)
        return Outdated(*own, noted_now(self.checkpoint, self.spec))

    @property
    def due(self) -> list[int]:
        """The days of which final rows are outdated."""
        way = ranged(self.spec)
        limit = way.closed_until(self.checkpoint.watermark(self.cursor.audited))
        found = self.outdated.ranges(limit)
        every = (
            range((of.span.start - DAY).days, -((DAY - of.span.end) // timedelta(1)))
            for of in found
        )
        return sorted({day for each in every for day in each})

    @property
    def states(self) -> str:
        """A letter a day: c, o or (outdated) x; as coverage has them."""
        letters = {"outdated": "x"}
        found = coverage(self.spec, self.paths).intervals
        return "".join(letters.get(each.state, each.state[0]) for each in found)


def _change(given):
    shop, *times = given if isinstance(given, tuple) else (given, None, None)
    key = None if shop is None else json.dumps({"shop_id": shop})
    return (key, *(None if n is None else (DAY + timedelta(days=n)).isoformat() for n in times))


ten_days = partial(range, 10)
_MADE: list[TemporaryDirectory[str]] = []
"""The folder of a root whose ten days are drained, made once."""


def drained(folder: Path, *behind: Step, by: dict[str, str] | None = None) -> Marked:
    """A root whose ten days are drained with version 0; those before the eighth are final."""
    if not _MADE:
        _MADE.append(TemporaryDirectory(prefix="sluice-marked-"))
        Marked(Path(_MADE[0].name)).drain(*ten_days())
    shutil.copytree(_MADE[0].name, folder, dirs_exist_ok=True)
    return Marked(folder, *behind, by=by, made=True)
