"""Source: a Delta table as a pipeline's topic, as source/port.py has one."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Final

from spark_jobs.checkpoint.log import Checkpoint, checkpoint_broken
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.noted_versions import noted_for, noted_now
from spark_jobs.errors import AccountBehind, UpstreamUnfit
from spark_jobs.side.place import Rooted, maker_of, place_of
from spark_jobs.source.port import Lasting, Leaving, Sampled, SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Table
from spark_jobs.spec.analysis.ranged import unranged
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.paths import Paths
from spark_jobs.storage.root.store import opened
from spark_jobs.table import history
from spark_jobs.table.tables import table_of
from spark_jobs.upstream import noted
from spark_jobs.upstream.file_rows import file_at
from spark_jobs.upstream.table_log import identity_of, log_of, moves, own_id, refuse_unlike
from spark_jobs.values.spans import FIRST, LAST
from spark_jobs.values.times import at_milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from upath import UPath

    from spark_jobs.source.port import Source, Versions
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.upstream.noted import Noted, Numbered

NOTE: Final = "rows.json"
"""In the pipeline's place."""


class RowsSource(Lasting):
    """See Source and Current. An offset is the number of a row (noted.py)."""

    def __init__(self, spec: Pipeline, settings: Rooted, until: Positions | None) -> None:
        [topic] = spec.inputs
        assert isinstance(topic, Table)  # whose source it is
        [self._beside] = topic.beside
        self._topic, self._spec, self._until, self._root = topic, spec, until, settings.root
        self._paths = Paths(settings.root, spec)
        self._folder = opened(place_of(self._beside, settings.root))

    @property
    def rows_note(self) -> UPath:
        return self._paths.version / NOTE

    @cached_property
    def _table(self) -> noted.Table:
        log = log_of(self._topic.name, self._folder)
        refuse_unlike(self._topic, self._folder)
        id_ = identity_of(self._topic.name, log)
        return noted.Table(self._topic.name, self._topic.event_time, self._folder, log, id_)

    def state(self) -> SourceState:
        """As of the newest version: what a run would note, if it noted it now."""
        if why := unranged(self._spec):
            raise UpstreamUnfit.unranged(pipeline=self._spec.name, name=self._topic.name, why=why)
        made, table = self._newest(), self._table
        begins, latest = (Positions({noted.DRAINED: n}) for n in (self._begins(made), made.end))
        due, held_back = self._due(), self._held_back()
        return SourceState(
            table.id,
            begins,
            latest,
            timestamps="commit",
            to_note=(due,) if due else (),
            told=(held_back,) if held_back else (),
        )

    def _newest(self) -> Noted:
        """What a run would note now."""
        known, table = self._known(), self._table
        if known is None or known.table_id != table.id or not self._planned:
            return noted.begun(table, table.log.newest)
        if known.version < table.log.newest:
            return self._followed(known, known.version, table.log.newest)
        return known

    def _due(self) -> str:
        """Why a run should note a newer version, though no row waits; empty if it need not."""
        name, table = self._topic.name, self._table
        pin = noted_now(Checkpoint(self._paths.checkpoint), self._spec).get(name)
        if pin is not None and pin.table_id != own_id(name, table.log):
            return f"{name} was made anew, with rows of the same pipeline: it notes them"
        if pin is None or pin.version >= (newest := table.log.newest):
            return ""
        if not moves(table.log, pin.version, newest, table.event_time).replaced:
            return ""
        return f"rows of {name} were replaced since version {pin.version}: it notes what they touch"

    def _held_back(self) -> str:
        """What has not passed the checks does not come."""
        paths = maker_of(self._beside, self._root)
        if paths is None:
            return ""
        of = paths.pipeline
        judged, newest = read_cursor(paths.cursor).judged_table_version, table_of(paths).version()
        if judged is None or not history.rows_changed(table_of(paths), judged, newest):
            return ""
        return (
            f"{of} holds back what versions {judged + 1} to {newest} of its table changed: it has "
            f"not passed the checks of {of}. `sluice show {of}` says which"
        )

    def earliest(self, partitions: Iterable[int]) -> Positions:
        """Behind the last file that was removed before its rows were accounted for. With
        on_lost_records='skip' a stream begins there.
        """
        begins = self._begins(self._noted())
        return Positions({p: begins if p == noted.DRAINED else 0 for p in partitions})

    def _begins(self, known: Noted | None) -> int:
        return known.missing(self._accounted(), self._there) if known else 0

    def _there(self, file: Numbered) -> bool:
        return file.gone is None or file_at(self._folder, file.path).exists()

    def _noted(self) -> Noted | None:
        """Raises CheckpointBroken if it is torn."""
        try:
            return noted.read(self.rows_note)
        except ValueError as error:
            wrong = f"{self.rows_note} cannot be read: {str(error).partition(chr(10))[0]}"
            raise checkpoint_broken(wrong, self._spec.name) from None

    def _known(self) -> Noted | None:
        """Raises CheckpointBroken if it is gone, and a batch has read numbers of it."""
        known = self._noted()
        if known is None and self._planned:
            raise checkpoint_broken(f"{self.rows_note} is missing", self._spec.name)
        return known

    def _followed(self, known: Noted, since: int, version: int) -> Noted:
        """What a run had noted, and Spark has not planned, is taken back if it is gone: the log
        tells what took its place.
        """
        table = self._table
        made = noted.followed(known, since, table, version)
        if not self._begins(made):
            return made
        pins = noted_for(max(self._planned), Checkpoint(self._paths.checkpoint))
        read = pins.get(self._topic.name)
        if (
            read is None
            or read.version >= since
            or read.table_id != own_id(self._topic.name, table.log)
            or not table.log.has(read.version, version)
        ):
            return made
        return noted.followed(known, read.version, table, version)

    @property
    def _planned(self) -> Sequence[int]:
        return Checkpoint(self._paths.checkpoint).planned()

    def _accounted(self) -> int:
        audited = read_cursor(self._paths.cursor).audited
        checkpoint = Checkpoint(self._paths.checkpoint)
        if audited < 0 or audited not in checkpoint.planned():
            return 0
        return Positions().count(checkpoint.batch(audited).end)

    def newest(self, partitions: Iterable[int]) -> datetime | None:  # noqa: ARG002 - the port's
        known = self._noted()
        times = (
            [file.at_ms for file in known.files if file.partition == noted.DRAINED] if known else []
        )
        return at_milliseconds(max(times)) if times else None

    def leaving(self, partitions: Sequence[int], times: Sequence[datetime]) -> Leaving:
        """Repairs read the table as it is: none of its rows leaves."""
        return Leaving((self.earliest(partitions),) * len(times))

    def stays(self) -> str:
        return (
            f"{self._topic.told('')}: a row stays until a DELETE, and its old file until a VACUUM; "
            "a census sees it only in a root"
        )

    def taken(self, parts: Parts) -> Parts:
        """Whose files a VACUUM has removed."""
        known, found = self._noted(), defaultdict[int, list[tuple[int, int]]](list)
        for file, some in known.within(parts) if known else ():
            if not self._there(file):
                found[file.partition].append(some)
        return {partition: tuple(ranges) for partition, ranges in found.items()}

    def count(self, parts: Parts) -> int:
        found = known.within(parts) if (known := self._noted()) else ()
        return sum(stop - first for file, (first, stop) in found if self._there(file))

    def sampled(self, parts: Parts, *, uncommitted: bool = False) -> Iterator[Sampled]:  # noqa: ARG002 - the port's
        from spark_jobs.upstream.file_rows import as_json, rows_of  # noqa: PLC0415 - a plan reads no row

        known = self._noted()
        columns = {field.name: field.type for field in self._topic.fields}
        ends = (stop for _, stop in parts.get(noted.DRAINED, ()))
        if known is None or max(ends, default=0) > known.end:  # `sluice preview` reads those too
            known = self._newest()
        for file, (first, stop) in known.within(parts):
            if not self._there(file):
                continue
            some = rows_of(str(self._folder), file, columns, first - file.first, stop - file.first)
            values = (value for part in some for value in as_json(part, columns))
            for offset, value in enumerate(values, first):
                yield Sampled(file.partition, offset, file.at_ms, None, value)

    def read(self, spark: SparkSession, parts: Parts, *, uncommitted: bool = False) -> DataFrame:  # noqa: ARG002 - the port's
        from spark_jobs.upstream.data_source import FORMAT, RowsOfTable, records  # noqa: PLC0415 - Spark

        spark.dataSource.register(RowsOfTable)
        options = self._options() | {"parts": json.dumps(parts)}
        return records(spark.read.format(FORMAT).options(**options).load())

    def stream(self, spark: SparkSession) -> tuple[DataFrame, ...]:
        from spark_jobs.upstream.data_source import FORMAT, RowsOfTable, records  # noqa: PLC0415 - Spark

        spark.dataSource.register(RowsOfTable)
        options = self._options() | {"begins": self.earliest([noted.DRAINED]).json}
        if self._until is not None:
            options["until"] = str(Positions().count(self._until))
        if self._spec.max_offsets_per_batch:
            options["most"] = str(self._spec.max_offsets_per_batch)
        return (records(spark.readStream.format(FORMAT).options(**options).load()),)

    def _options(self) -> dict[str, str]:
        columns = {field.name: field.type for field in self._topic.fields}
        return {
            "folder": str(self._folder),
            "noted": str(self.rows_note),
            "columns": json.dumps(columns),
            "topic": self._topic.name,
        }

    # What only a source is asked for whose records are replaced.

    def keep(self, since: Mapping[str, int | None], now: Versions, held: Held) -> None:
        name, table = self._topic.name, self._table
        known, version = self._known(), now[name]
        unread = known is None or (name not in since and version > known.version)
        if known is None or unread or not self._planned:
            made = noted.begun(table, version)
        elif (base := since.get(name, version)) is None:
            known = known.among(version)
            made = noted.followed(known, known.version, table, version)
        elif (base, version) != (known.version, known.version):
            made = self._followed(known, base, version)
        else:
            return
        made.behind(known).put(self.rows_note, held)
        failpoint.at("rows.noted")

    def slices(self, versions: Versions, horizon: Positions) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415 - a plan of a drain reads no table

        known, version = self._noted(), versions[self._topic.name]
        done = Positions().count(horizon)
        live = [*known.live(version)] if known else []
        if known and known.end > done and self._spec.entry is None:  # drains read what is gone, too
            raise AccountBehind.rows_wait(pipeline=self._spec.name, name=self._topic.name)
        files = [f for f in live if f.rows and (f.partition == noted.REPAIRED or f.stop <= done)]
        told = [f.earliest is not None and f.latest is not None for f in files]
        time = pa.timestamp("us", "UTC")
        both = [*zip(files, told, strict=True)]
        return pa.table(
            {
                "partition": pa.array([f.partition for f in files], pa.int32()),
                "first_offset": pa.array([f.first for f in files], pa.int64()),
                "last_offset": pa.array([f.stop - 1 for f in files], pa.int64()),
                "records": pa.array([f.rows for f in files], pa.int64()),
                "first_event_time": pa.array([f.earliest if k else FIRST for f, k in both], time),
                "last_event_time": pa.array([f.latest if k else LAST for f, k in both], time),
            }
        )


def source(
    spec: Pipeline, settings: Rooted, _: Mapping[int, int], until: Positions | None
) -> Source:
    """Table.source names it."""
    return RowsSource(spec, settings, until)
