"""Quarantine: which records in ops.quarantine are good by today's spec, and which of them the rows
have: a replay has brought them there. Without Spark, some thousand records after the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spark_jobs.checkpoint.notes.excised import EXCISED
from spark_jobs.checkpoint.notes.failing import PUT_ASIDE, read_failing
from spark_jobs.decode.formats import Decoded, Records
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.errors import RecordsUnreachable
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.find.late import waiting_sql
from spark_jobs.repair.find.unfound import Unfound, unfound
from spark_jobs.runs.failures.data_error import fails_still
from spark_jobs.source.place import WHOLE, Place, selected_sql
from spark_jobs.spec.analysis.lateness import unheld
from spark_jobs.spec.fields.each import of_element
from spark_jobs.values.numbering import input_of
from spark_jobs.values.spans import FIRST, LAST

if TYPE_CHECKING:
    from spark_jobs.checkpoint.notes.excised import Refused
    from spark_jobs.checkpoint.notes.failing import FailingRecords
    from spark_jobs.decode.record_decoder import RecordDecoder
    from spark_jobs.ops.schema import Row
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.inputs import Topics
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.values.gap import Unheld

    Limits = Sequence[Unheld]


COLUMNS: Final = "kafka_timestamp, planned_at, kind, reason, left_out"
BY_ELEMENT: Final = "spark_jobs.repair.find.waiting_elements"
"""Loaded by name: a value of most topics is one record."""


class Replayable(NamedTuple):
    """A record in quarantine that is good by today's spec."""

    partition: int
    offset: int
    event_time: datetime
    missed: None = None
    """It missed no watermark, so it is in each window of its time (repair/find/late.py)."""
    element: int = WHOLE

    @property
    def place(self) -> Place:
        return Place(self.partition, self.offset, self.element)


def waiting(
    spec: Pipeline,
    paths: Paths,
    generations: Sequence[str],
    batch: int,
    reason: str = "",
    settings: Settings | None = None,
) -> Iterator[Replayable | str]:
    """Each quarantined record of these generations, up to this batch, that no replay has brought
    into the rows, in no order: as a good one, or why it still is none.

    `reason` is text that must be in its kind and reason, in capitals or not. With `settings`,
    registries are asked again for the schemas that lacked; without, a format may know less
    (decode/formats.py).
    """
    for module in spec.inputs.asks if settings else ():
        resolve_name(module).ask_again(spec, settings, paths.root)
    limits, lookups = unheld(spec), unfound(spec, paths)
    decoders, excised, given = [], read_failing(paths.failing).in_repairs, None
    for topic in spec.inputs:
        own: Limits = [limit for limit in limits if limit.field in topic.columns]
        fields = [topic.event_time, *(limit.field for limit in own)]
        fields += [name for of in lookups for name in of.columns if name in topic.columns]
        prepared = prepare(topic, str(paths.root), settings, fields)
        decoders.append((prepared.decoder(), own))
        given = prepared.given[0]
    waits = waiting_sql(paths, "quarantine", generations, batch)
    parts: Iterable[list[Row]]
    if spec.inputs.spread:
        every = _every_sql(paths, generations, batch)
        own_bytes = resolve_name(BY_ELEMENT).parts
        parts = own_bytes(paths, spec.inputs[0], given, COLUMNS, waits, f"quarantine WHERE {every}")
    else:
        sql = f"SELECT {selected_sql()}, {COLUMNS}, key, value, headers FROM {waits}"
        found = ops_tables.stream(paths.root, "quarantine", sql, "merged")
        parts = (part.to_pylist() for part in found)
    for rows, own, (columns, malformed) in _decoded(parts, decoders, reason.lower(), excised):
        times, *limited = (column.to_pylist() for column in columns)
        keys = _keys_of(lookups, spec, rows, limited[len(own) :])
        for number, (row, time, why) in enumerate(zip(rows, times, malformed, strict=True)):
            held = (
                limit.reason(values[number]) for limit, values in zip(own, limited, strict=False)
            )
            # Named by a person, it stays until one asks for it by its reason.
            told = _told(row, excised)
            aside = not reason and told.startswith(PUT_ASIDE)
            still = why or next(filter(None, held), "") or (told if aside else "")
            if not still and time is not None:
                still = next(filter(None, (of.reason(keys[number], time) for of in lookups)), "")
            bad = f"malformed: {still}" if still else _bad(spec, row, time)
            if row["left_out"] is not None:
                bad = f"{row['kind']}: {row['reason']}"
            at = Place.of_row(row)
            yield bad or Replayable(at.partition, at.offset, time, element=at.element)


def _every_sql(paths: Paths, generations: Sequence[str], batch: int) -> str:
    return f"{ops_tables.of_checkpoint(paths.pipeline, generations)} AND batch_id <= {batch}"


def _keys_of(
    lookups: Sequence[Unfound], spec: Pipeline, rows: Sequence[Row], columns: Sequence[list[Any]]
) -> list[dict[str, Any]]:
    """Of each record of one topic the values by which rows are found."""
    number = input_of(rows[0]["partition"]) if rows else 0
    own = spec.inputs[number].columns
    names = [name for of in lookups for name in of.columns if name in own]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)] or [
        {} for _ in rows
    ]


def _decoded(
    parts: Iterable[list[Row]],
    decoders: Sequence[tuple[RecordDecoder, Limits]],
    text: str,
    excised: Refused,
) -> Iterator[tuple[list[Row], Limits, Decoded]]:
    for part in parts:
        for number, (decoder, limits) in enumerate(decoders):
            rows: list[Row] = [
                row
                for row in part
                if text in f"{row['kind']}: {_told(row, excised)}".lower()
                and input_of(row["partition"]) == number
            ]
            columns, reasons = decoder.decode(Records.of_rows(rows))
            yield rows, limits, Decoded(columns, [*map(_of_element, rows, reasons)])


def _of_element(row: Row, reason: str | None) -> str | None:
    if "why" not in row:  # a value is one record
        return reason
    why: str | None = row["why"]
    return why or (reason and of_element(reason))


def _told(row: Row, excised: Refused) -> str:
    """Why it waits: one that was bad before may be excised since."""
    why: str = excised.excised(Place.of_row(row)) or row["reason"]
    return why


def used_within(
    paths: Paths, inputs: Topics, generations: Sequence[str], batch: int, where: str
) -> set[Place]:
    """The quarantined records, of those for which this SQL holds, that replays have brought into
    the rows. Raises RecordsUnreachable if ops.quarantine no longer has one of them.
    """
    own = ops_tables.of_checkpoint(paths.pipeline, generations)
    used = _places(paths, "merged", f"{own} AND source = 'quarantine' AND ({where})")
    lost = used and used - _places(paths, "quarantine", _every_sql(paths, generations, batch))
    if lost:
        partition, offset, _ = min(lost)
        raise RecordsUnreachable.replayed_gone(
            pipeline=paths.pipeline,
            records=len(lost),
            partition=inputs.shown(partition),
            offset=offset,
        )
    return used


def spared(
    paths: Paths,
    generations: Sequence[str],
    used: Iterable[Place],
    replays: Iterable[Replayable],
    known: FailingRecords,
) -> dict[Place, int]:
    """The quarantined records that a repair uses, each with the number of the newest excision that
    its replay knew of: a later one has it too. `replays`: those that this repair brings.
    """
    found = dict.fromkeys(used, known.excisions)
    if not (found and known.excised):
        return found
    own = ops_tables.of_checkpoint(paths.pipeline, generations)
    numbers = {
        row["repair_id"]: _number(json.loads(row["inputs"] or "{}"), known)
        for row in repairs.stored(paths.root, paths.pipeline, own)
    }
    where = f"{own} AND source = 'quarantine'"
    sql = f"SELECT repair_id, {selected_sql()} FROM merged WHERE {where}"
    ours = {each.place for each in replays}
    for row in ops_tables.query(paths.root, "merged", sql).to_pylist():
        place = Place.of_row(row)
        if place in found and place not in ours:
            found[place] = numbers.get(row["repair_id"], known.excisions)
    return found


def _number(inputs: dict[str, Any], known: FailingRecords) -> int:
    """Of excisions that another file counted nobody knows: then the replay stands."""
    pin = inputs.get(EXCISED)
    if pin is None:
        return 0
    return int(pin["version"]) if pin["table_id"] == known.ledger else known.excisions


def _places(paths: Paths, table: str, where: str) -> set[Place]:
    sql = f"SELECT {selected_sql()} FROM {table} WHERE {where}"
    return {Place.of_row(row) for row in ops_tables.query(paths.root, table, sql).to_pylist()}


def _bad(spec: Pipeline, row: Row, time: Any) -> str:
    if row["kind"] == "malformed" and fails_still(row["reason"], spec):
        return f"malformed: {row['reason']}"
    if time is None:
        return "a tombstone, which the topic drops: it has no row"
    if not FIRST <= time < LAST:
        return f"its event time is not of the years {FIRST.year} to {LAST.year}, and in no range"
    # The clock of its batch, and not today's: a wrong clock does not become right by waiting.
    clocks = [at for at in (row["kafka_timestamp"], row["planned_at"]) if at is not None]
    ahead = spec.inputs.of_partition(row["partition"]).max_ahead
    if clocks and time - min(clocks) > ahead:
        return f"premature: its event time is more than {ahead} ahead"
    return ""
