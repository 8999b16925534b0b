"""Whatever comes, grows or is copied in whatever order, a folder's rows are what DuckDB's own
readers find in its files, and of Avro what fastavro does. Records keep their numbers.
"""

import csv
import io
import json
import tempfile
import zlib
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import duckdb
import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from spark_jobs.errors import FilesUnfit
from spark_jobs.files.records import pieces, tasks
from spark_jobs.source.place import Place
from spark_jobs.spec import Avro, Csv, Field, Json, Parquet
from tests.harness.long_form import examples
from tests.harness.refused import fails
from tests.unit.folders import FIELDS, Folder

DAY = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = {
    "type": "record",
    "name": "Sale",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "n", "type": "long"},
        {"name": "s", "type": ["null", "string"]},
        {
            "name": "d",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
        },
    ],
}
FORMATS = {
    "json": Json(),
    "csv": Csv(columns=("at", "n", "s", "d"), null="NULL"),
    "parquet": Parquet(),
    "avro": Avro(reader=json.dumps(SCHEMA)),
}
COLUMNS = "{'at': 'TIMESTAMPTZ', n: 'BIGINT', s: 'VARCHAR', d: 'DECIMAL(12,2)'}"
SQL = {
    "json": f"read_json($files, format='newline_delimited', columns={COLUMNS})",
    "csv": f"read_csv($files, header=true, auto_detect=false, delim=',', quote='\"', escape='\"', "
    f"nullstr='NULL', allow_quoted_nulls=false, columns={COLUMNS})",
    "parquet": "read_parquet($files)",
}
GROW = {"json", "csv"}
ROW = st.fixed_dictionaries({
    "at": st.integers(0, 10**12).map(lambda us: DAY + timedelta(microseconds=us)),
    "n": st.integers(-(2**63), 2**63 - 1),
    "s": st.none() | st.text('a,"\n é', min_size=1, max_size=4),
    "d": st.decimals(-(10**9), 10**9, places=2).map(lambda d: d + Decimal(0)),
})  # fmt: skip
ROWS = st.lists(ROW, min_size=1, max_size=4)
STEP = st.tuples(st.sampled_from(["new", "grow", "copy", "touch"]), st.integers(0, 7), ROWS)


def written(kind, rows, codec="deflate"):
    """The bytes of a file, without CSV's header."""
    out = io.BytesIO()
    if kind == "parquet":
        types = pa.schema([
            ("at", pa.timestamp("us", "UTC")), ("n", pa.int64()), ("s", pa.string()),
            ("d", pa.decimal128(12, 2)),
        ])  # fmt: skip
        pq.write_table(pa.Table.from_pylist(rows, types), out, row_group_size=2)
    elif kind == "avro":
        fastavro.writer(out, SCHEMA, rows, codec=codec, sync_interval=20)
    elif kind == "csv":
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        for row in rows:
            s = "NULL" if row["s"] is None else row["s"]
            lines.writerow([row["at"].isoformat(), row["n"], s, row["d"]])
        out.write(text.getvalue().encode())
    else:
        for row in rows:
            told = row | {"at": row["at"].isoformat(), "d": 0}
            line = json.dumps(told).replace('"d": 0', f'"d": {row["d"]}')
            out.write(line.encode() + b"\n")
    return out.getvalue()


def wanted(kind, files):
    if kind == "avro":
        return [row for file in files for row in fastavro.reader(io.BytesIO(file.read_bytes()))]
    with duckdb.connect() as db:
        db.execute("SET TimeZone='UTC'")
        found = db.sql(
            f'SELECT "at", n, s, d FROM {SQL[kind]}', params={"files": [*map(str, files)]}
        )
        return found.to_arrow_table().to_pylist()


def told(rows):
    return sorted((row["at"].astimezone(UTC), row["n"], row["s"] or "", row["d"]) for row in rows)


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=examples(15), deadline=None)
@given(steps=st.lists(STEP, min_size=1, max_size=8), cuts=st.lists(st.integers(0, 30), max_size=3))
def test_a_folders_rows_are_what_other_readers_find_in_its_files(kind, steps, cuts):
    fields = (*FIELDS, Field(name="s", type="string", required=False))
    fields += (Field(name="d", type="decimal(12,2)"),)
    with tempfile.TemporaryDirectory() as place:
        made = Folder(Path(place), format=FORMATS[kind], fields=fields, copies="skip")
        own, seen, turn = list[Path](), list[bytes](), 3_000
        for number, (step, at, rows) in enumerate(steps):
            turn -= 100
            if step == "new" or not own or (step == "grow" and kind not in GROW):
                rows[0]["n"] = number  # no copy of another by chance
                own.append(path := made.folder / f"{at}-{number}.{kind}")
                head = b"at,n,s,d\n" if kind == "csv" else b""
                path.write_bytes(head + written(kind, rows))
            else:
                path = own[at % len(own)]
                if step == "grow":
                    path.write_bytes(path.read_bytes() + written(kind, rows))
                elif step == "copy":
                    copy = made.folder / f"{at}-{number}-copy.{kind}"
                    copy.write_bytes(path.read_bytes())
                    made.age(copy.name, turn)
            made.age(path.name, turn)
            if at % 2 or step == "copy":
                made.note()
                now = made.values()
                assert now[: len(seen)] == seen
                seen = now
        made.note()
        rows, malformed = made.rows()
        assert malformed == 0
        assert told(rows) == told(wanted(kind, own))
        ends = sorted({0, made.end, *(each % (made.end + 1) for each in cuts)})
        listed = made.source.listed
        of_tasks = [
            (piece.first, piece.stop)
            for first, stop in pairwise(ends)
            for task in tasks(pieces(listed, first, stop))
            for piece in task
        ]
        assert [each for span in of_tasks for each in range(*span)] == [*range(made.end)]
        whole = made.values()
        assert [value for span in of_tasks for value in made.values(*span)] == whole


def long(number):
    """Avro's, of a number below 8,192 that is not negative."""
    low, high = (number << 1) & 127, number >> 6
    return bytes((low | 128, high)) if high else bytes((low,))


def told_bytes(content):
    return long(len(content)) + content


def by_hand(rows, codec, packed):
    """A container with one block."""
    out, sync = io.BytesIO(), b"s" * 16
    for row in rows:
        fastavro.schemaless_writer(out, SCHEMA, row)
    about = {b"avro.schema": json.dumps(SCHEMA).encode(), b"avro.codec": codec.encode()}
    header = long(2) + b"".join(told_bytes(k) + told_bytes(v) for k, v in about.items()) + b"\0"
    return b"Obj\x01" + header + sync + long(len(rows)) + told_bytes(packed(out.getvalue())) + sync


PACKED = {
    "snappy": lambda whole: (
        pa.Codec("snappy").compress(whole, asbytes=True) + zlib.crc32(whole).to_bytes(4, "big")
    ),
    "zstandard": lambda whole: pa.Codec("zstd").compress(whole, asbytes=True),
}


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"])
def test_avro_is_read_in_every_codec_and_a_part_of_a_file_is_refused(codec, tmp_path):
    rows = [{"at": DAY, "n": n, "s": "a" * 90, "d": Decimal("1.50")} for n in range(50)]
    made = Folder(tmp_path, format=FORMATS["avro"], fields=FIELDS)
    by = PACKED.get(codec)
    whole = by_hand(rows, codec, by) if by else written("avro", rows, codec)
    (made.folder / "a.avro").write_bytes(whole)
    made.age("a.avro")
    made.note()
    assert [row["n"] for row in made.rows()[0]] == [*range(50)]
    assert made.source.origin(Place(0, 7)) == "a.avro record 8"
    for cut in (3, 40, len(whole) // 2, len(whole) - 5):
        (made.folder / "b.avro").write_bytes(whole[:cut])
        made.age("b.avro")
        with fails(FilesUnfit, "damaged", name="b.avro"):
            made.note()


def test_avro_of_another_schema_and_damaged_parquet_are_refused(tmp_path):
    made = Folder(tmp_path, format=FORMATS["avro"], fields=FIELDS)
    other = SCHEMA | {"fields": SCHEMA["fields"][:2]}
    with (made.folder / "a.avro").open("wb") as file:
        fastavro.writer(file, other, [{"at": DAY, "n": 1}])
    made.age("a.avro")
    with fails(FilesUnfit, "other_schema", name="a.avro"):
        made.note()
    (made.folder / "a.avro").unlink()
    made.declare(format=Parquet())
    whole = written("parquet", [{"at": DAY, "n": 1, "s": "a", "d": Decimal("1.50")}])
    for part in (whole[:-9], whole[9:], b"PAR1"):
        (made.folder / "a.parquet").write_bytes(part)
        made.age("a.parquet")
        with fails(FilesUnfit, "damaged", name="a.parquet"):
            made.note()


ODD = {
    "nan": (pa.array([float("nan")]), "double"),
    "far": (pa.array([2**60], pa.timestamp("us", "UTC")), "timestamp"),
    "ns": (pa.array([1_767_225_600_000_000_001], pa.timestamp("ns", "UTC")), "timestamp"),
    "ns within": (
        pa.array([{"a": 1_767_225_600_000_000_001}], pa.struct({"a": pa.timestamp("ns", "UTC")})),
        "struct<a:timestamp>",
    ),
    "far within": (
        pa.array([{"a": 2**60}], pa.struct({"a": pa.timestamp("us", "UTC")})),
        "struct<a:timestamp>",
    ),
    "no zone": (pa.array([0], pa.timestamp("us", "Mars/Olympus")), "timestamp"),
    "no UTF-8": (pa.StringArray.from_buffers(1, *pa.array([b"\xff"]).buffers()[1:]), "string"),
    "key twice": (
        pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64())),
        "map<string,bigint>",
    ),
    "key of another type": (
        pa.array([[(True, 1)]], pa.map_(pa.bool_(), pa.int64())),
        "map<string,bigint>",
    ),
    "bytes": (pa.array([b"\xff\0"]), "binary"),
    "map": (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "map<string,bigint>"),
    "struct": (pa.array([{"a": [1, None]}]), "struct<a:array<bigint>>"),
    "day": (pa.array([20454], pa.date32()), "date"),
    "big": (pa.array([Decimal("12345678901234567890.123456789")]), "decimal(38,9)"),
}
GIVES = {
    "ns": datetime(2026, 1, 1, tzinfo=UTC),
    "ns within": {"a": datetime(2026, 1, 1, tzinfo=UTC)},
    "key of another type": [("true", 1)],
    "bytes": b"\xff\0",
    "map": [("a", 1)],
    "struct": {"a": [1, None]},
    "day": datetime(2026, 1, 1, tzinfo=UTC).date(),
    "big": Decimal("12345678901234567890.123456789"),
}
"""What is read; the others are malformed."""


@pytest.mark.parametrize("odd", ODD)
def test_a_value_of_parquet_is_read_exactly_or_its_record_is_malformed(odd, tmp_path):
    column, kind = ODD[odd]
    field = Field(name="v", type=kind)
    made = Folder(tmp_path, format=Parquet(), fields=(*FIELDS, field))
    at = pa.array([DAY], pa.timestamp("us", "UTC"))
    table = pa.table({"at": at, "n": pa.array([1]), "v": column})
    pq.write_table(table, made.folder / "a.parquet", version="2.6")
    made.age("a.parquet")
    made.note()
    rows, malformed = made.rows()
    assert [row["v"] for row in rows] == ([GIVES[odd]] if odd in GIVES else [])
    assert malformed == (odd not in GIVES)
