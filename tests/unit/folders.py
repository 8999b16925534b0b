"""A folder of files as a pipeline's source, without Spark: noted and read as a drain does it."""

import os
import time

import pyarrow as pa

from spark_jobs.checkpoint.lease import lease
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.draft.sample import records
from spark_jobs.files.source import FilesSource
from spark_jobs.spec import Field, Files, Json, Transform
from spark_jobs.storage.root.paths import Paths
from tests.unit import specs

STEPS = (Transform(where="n IS NOT NULL"),)
FIELDS = (Field(name="at", type="timestamp"), Field(name="n", type="bigint"))


class Folder:
    """A root, and beside it a folder."""

    def __init__(self, place, **given) -> None:
        self.folder, self.root = place / "in", str(place / "root")
        self.folder.mkdir()
        self.declare(**given)

    def declare(self, on_lost_records="refuse", **given) -> None:
        usual = {"path": str(self.folder), "event_time": "at", "fields": FIELDS, "format": Json()}
        topic = Files(**usual | given)
        self.spec = specs.pipeline(topic=topic, steps=STEPS, on_lost_records=on_lost_records)

    @property
    def source(self) -> FilesSource:
        return FilesSource(self.spec, self.root)

    @property
    def paths(self) -> Paths:
        return Paths(self.root, self.spec)

    def put(self, name, *lines, age=120, end="\n"):
        """A file that changed so many seconds ago."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        whole = "".join(f"{each}\n" for each in lines)
        path.write_bytes((whole.removesuffix("\n") + end).encode())
        self.age(name, age)
        return path

    def age(self, name, age=120) -> None:
        os.utime(self.folder / name, (time.time() - age,) * 2)

    def note(self):
        """As a drain does it; what it tells."""
        self.paths.version.mkdir(parents=True, exist_ok=True)
        with lease(self.paths.lease, "test") as held:
            return self.source.note(held)

    @property
    def end(self) -> int:
        """The number behind the last record that is noted."""
        return self.source.listed.end

    def values(self, first=0, stop=None) -> list[bytes]:
        parts = {0: ((first, self.end if stop is None else stop),)}
        found = [*self.source.sampled(parts)]
        assert [each.offset for each in found] == [*range(first, first + len(found))]
        return [each.value for each in found]

    def rows(self):
        """Of the good records, decoded by the format; and how many are malformed."""
        sample = [*self.source.sampled({0: ((0, self.end),)})]
        topic = self.spec.topic
        columns, reasons = prepare(topic, self.root, None).decoder().decode(records(sample))
        table = pa.table(columns, names=[*topic.columns])
        good = [row for row, why in zip(table.to_pylist(), reasons, strict=True) if why is None]
        return good, sum(why is not None for why in reasons)
