"""The records on which an expression fails, as they are stored beside a checkpoint."""

import json

import pyarrow as pa
import pytest
from upath import UPath

from spark_jobs.checkpoint.notes.failing import FailingRecord, FailingRecords, read_failing
from spark_jobs.decode.decoder import _Work
from spark_jobs.decode.raw_filter import CapturePolicy, RawFilter
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.errors import CheckpointBroken, FormatNewer
from spark_jobs.runs.failures.record_search import spans
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions
from spark_jobs.values.own_columns import MALFORMED
from tests.harness.refused import fails, has
from tests.unit.decoding import of_headers
from tests.unit.specs import topic

RECORDS = [
    FailingRecord(batch=batch, partition=0, offset=10 * batch, reason=f"of {batch}")
    for batch in (3, 4, 5)
]


def test_what_is_stored_is_read_again(tmp_path):
    path = UPath(tmp_path / "failing.json")
    assert read_failing(path).reasons == {}
    FailingRecords().with_more(RECORDS, audited=2).write(path)
    assert read_failing(path).reasons == {
        Place(0, 30): "of 3", Place(0, 40): "of 4", Place(0, 50): "of 5"}  # fmt: skip


def test_records_are_forgotten_once_their_batch_is_audited_and_not_before():
    stored = FailingRecords().with_more(RECORDS[:2], audited=2)
    assert stored.with_more(RECORDS[2:], audited=3).records == tuple(RECORDS[1:])


def test_going_back_to_a_batch_forgets_the_records_of_later_ones():
    stored = FailingRecords(records=tuple(RECORDS))
    assert stored.up_to(4).records == tuple(RECORDS[:2])
    assert stored.of(4) == (RECORDS[1],)


def test_a_torn_file_is_an_error_and_not_no_records(tmp_path):
    path = UPath(tmp_path / "p" / "v1" / "failing.json")
    path.parent.mkdir(parents=True)
    path.write_text('{"records": [')
    with fails(CheckpointBroken, "file_damaged", what=has("failing.json")):
        read_failing(path)
    path.write_text('{"format_version": 99}')
    with pytest.raises(FormatNewer):
        read_failing(path)


def test_a_failing_record_is_decoded_as_a_malformed_one_and_its_bytes_are_kept():
    """Also far from the watermark, where a record's bytes are dropped."""
    fields = topic()
    values = [
        json.dumps({"id": name, "at": "2026-01-01T12:00:00Z", "shop": "s"}).encode()
        for name in ("a", "b", "c")
    ]
    raw = pa.StructArray.from_arrays(
        [pa.array([b"k"] * 3), pa.array([*values[:2], b"{"]), of_headers([None] * 3)],
        ["key", "value", "headers"],
    )
    columns = [
        pa.array([0, 0, 1], pa.int32()),
        pa.array([7, 8, 8]),
        pa.array([1767268800000000] * 3, pa.timestamp("us", tz="UTC")),
        raw,
    ]
    kafka = pa.StructArray.from_arrays(columns, ["partition", "offset", "timestamp", "raw"])
    batch = pa.RecordBatch.from_arrays([kafka], ["kafka"])
    policy = CapturePolicy.of(0, 1, 1767268800000)
    prepared, keeps = prepare(fields, "memory://none", None), RawFilter(fields, policy)
    reasons = {(0, 8): "step 1: DIVIDE_BY_ZERO", (1, 8): "another reason", (0, 9): "not here"}
    failing = {Place(*at): why for at, why in reasons.items()}
    columns = {field.name: field.type for field in fields.fields}
    work = _Work(prepared, prepared.decoder(), keeps, None, None, columns)
    [part] = work.decoded(batch, failing, named=False)
    rows = part.to_pylist()
    assert [row[MALFORMED] for row in rows][:2] == [None, "step 1: DIVIDE_BY_ZERO"]
    assert rows[2][MALFORMED].startswith("not JSON"), "the decoder's own reason comes first"
    assert [row["id"] for row in rows] == ["a", None, None]
    assert [row["kafka"]["raw"] and row["kafka"]["raw"]["value"] for row in rows] == [
        None,
        values[1],
        b"{",
    ]


def test_the_search_halves_offsets_partition_by_partition():
    part = Batch(4, Positions({0: 10, 1: 5}), Positions({0: 13, 1: 9, 2: 2}), 0, 0)
    assert spans(part, 0, part.covered) == [(0, 10, 12), (1, 5, 8), (2, 0, 1)]
    assert spans(part, 2, 5) == [(0, 12, 12), (1, 5, 6)]
    places = [spans(part, place, place + 1) for place in range(part.covered)]
    assert places == [
        [(partition, offset, offset)]
        for partition, offsets in ((0, (10, 11, 12)), (1, (5, 6, 7, 8)), (2, (0, 1)))
        for offset in offsets
    ]
