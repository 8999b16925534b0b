"""The census: a canary in each kind of place is found, and no value is told."""

import base64
import bz2
import codecs
import gzip
import json
import lzma
import re
import struct
import tarfile
import zipfile
from pathlib import Path
from unicodedata import normalize
from urllib.parse import quote

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from typer.testing import CliRunner
from upath import UPath

from spark_jobs.census.census import Census
from spark_jobs.census.content import Condition
from spark_jobs.census.kinds import KINDS, REST, kind_of
from spark_jobs.cli import app, find
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.spec import Field
from spark_jobs.storage.root import paths
from spark_jobs.topics.flights import FLIGHTS
from tests.unit.specs import FIELDS, deployed, topic

CANARY, OTHER = "canary-4711", "canary-47110"
SCHEMA = {"id": pa.string(), "shop": pa.string(), "amount": pa.int64()}
FROZEN = Path(__file__).parents[1] / "frozen" / "0eb87da2.tar.xz"
PLACE = "checkpoints/sales_by_shop/v1"


def condition(sql=f"id = '{CANARY}'", **of):
    declared = topic(fields=(*FIELDS[:3], Field(**of))) if of else topic()
    return Condition(sql, prepare(declared, "", None))


def census(root, sql=f"id = '{CANARY}'"):
    return Census(UPath(root), condition(sql)).answer()


def kinds(root, **given):
    return {each.kind: each.entries for each in census(root, **given).found}


def rows(*ids, amount=3):
    return pa.table(
        {"id": ids, "shop": ["s"] * len(ids), "amount": [amount] * len(ids)},
        schema=pa.schema(SCHEMA.items()),
    )


def record(name, amount=3):
    return json.dumps(
        {"id": name, "at": "2026-01-01T00:00:00Z", "shop": "s", "amount": amount}
    ).encode()


def kept(*values, of="sales"):
    count = len(values)
    return pa.table(
        {
            "topic": [of] * count,
            "partition": pa.array([0] * count, pa.int32()),
            "offset": pa.array(range(count), pa.int64()),
            "kafka_timestamp": pa.array([0] * count, pa.timestamp("us", "UTC")),
            "key": pa.array([None] * count, pa.binary()),
            "value": pa.array(values, pa.binary()),
        }
    )


def lz4_blocks(content):
    body = pa.Codec("lz4_raw").compress(content, asbytes=True)
    return b"LZ4Block" + struct.pack("<Biii", 0x25, len(body), len(content), 0) + body


def write(root, path, content):
    place = Path(root) / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def parquet(root, path, table):
    place = Path(root) / path
    place.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, place)


def zipped(root, path, content):
    place = Path(root) / path
    place.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("000004.log", content)


HIDES = {
    "change feed": lambda r: parquet(r, "tables/t/_change_data/cdc.parquet", rows(CANARY, OTHER)),
    "table": lambda r: parquet(r, "tables/t/part-0.parquet", rows(CANARY, OTHER)),
    "published table": lambda r: parquet(r, "published/t/part-0.parquet", rows(CANARY)),
    "archive": lambda r: parquet(
        r, "archive/sales/p.parquet", kept(record(CANARY), record(OTHER)).drop(["topic"])
    ),
    "late": lambda r: parquet(r, "ops/late/pipeline=t/p.parquet", kept(record(CANARY))),
    "quarantine": lambda r: parquet(
        r, "ops/quarantine/pipeline=t/p.parquet", kept(b'{"id": "%s", ' % CANARY.encode())
    ),
    "ops tables": lambda r: parquet(
        r,
        "ops/runs/pipeline=t/p.parquet",
        pa.table({"report": [json.dumps({"sample": f"[{CANARY}]"})]}),
    ),
    "marks and repairs": lambda r: parquet(
        r, "ops/outdated/pipeline=t/p.parquet", pa.table({"key": [json.dumps({"shop_id": CANARY})]})
    ),
    "files beside the stream": lambda r: write(
        r, "sides/9f.csv", b"id,name\n%s,A\n" % CANARY.encode()
    ),
    "staging": lambda r: write(r, "staging/t/repair-1/keys.json", {"keys": [[CANARY]]}),
    "reports": lambda r: write(r, "reports/t/run.json", {"problem": {"what": f"got '{CANARY}'"}}),
    "state of a rewind": lambda r: zipped(
        r, f"{PLACE}/spark-20260101T000000000000/state/0/0/2_a.zip", b"\0" + CANARY.encode() + b"\1"
    ),
    "state": lambda r: write(
        r, f"{PLACE}/spark/state/0/0/1.snapshot", lz4_blocks(b"\0\0\x1e" + CANARY.encode())
    ),
    "Spark's log": lambda r: write(r, f"{PLACE}/spark/offsets/0", b"v1\n{}\n" + CANARY.encode()),
    "excisions": lambda r: write(r, "excised/x.json", {"where": f"email = '{CANARY}'"}),
    "failing records": lambda r: write(r, f"{PLACE}/failing.json", {"records": [{"id": CANARY}]}),
    "kept answers": lambda r: write(r, f"{PLACE}/state.json", {"rows": [[CANARY, 3]]}),
    "what was put aside": lambda r: write(r, f"{PLACE}/aside/old.json", [CANARY]),
    "position": lambda r: write(r, f"{PLACE}/cursor.json", {"note": CANARY}),
    "notes of a pipeline": lambda r: write(r, "checkpoints/t/journal.json", {"facts": [CANARY]}),
    "no kind of Sluice's": lambda r: write(r, "backup/x.gz", gzip.compress(CANARY.encode())),
}


def test_each_kind_of_place_has_a_canary_but_the_log_of_a_table_which_a_real_table_writes():
    names = {kind.name for kind in (*KINDS, REST)}
    assert names - HIDES.keys() == {"log of a table"}
    assert HIDES.keys() - names == set()


@pytest.mark.parametrize("kind", HIDES)
def test_a_canary_in_one_place_is_found_there_alone(tmp_path, kind):
    HIDES[kind](tmp_path)
    found = census(tmp_path)
    assert [(each.kind, each.entries) for each in found.found] == [(kind, 1)]
    assert found.unread == ()


@pytest.mark.parametrize("kind", [kind for kind in HIDES if "state" not in kind])
def test_a_longer_word_is_another(tmp_path, kind):
    HIDES[kind](tmp_path)
    assert kinds(tmp_path, sql="id = 'canary-471'") == {}


def test_bytes_are_found_within_words_in_every_place(tmp_path):
    for hide in HIDES.values():
        hide(tmp_path)
    found = Census(UPath(tmp_path), None, "anary-4711").answer().found
    assert {each.kind for each in found} == {*HIDES}


def test_a_deleted_row_is_found_in_the_old_file_and_in_the_logs_statistics(tmp_path):
    table = f"{tmp_path}/tables/t"
    write_deltalake(table, rows(CANARY, "z"))
    assert kinds(tmp_path) == {"table": 1, "log of a table": 1}
    DeltaTable(table).delete(f"id = '{CANARY}'")
    DeltaTable(table).create_checkpoint()
    found = kinds(tmp_path)
    assert found["table"] == 1
    assert found["log of a table"] >= 2


def test_a_text_that_statistics_cut_is_found_by_its_start(tmp_path):
    name = "a-very-long-name-of-a-customer-that-goes-on"
    write_deltalake(f"{tmp_path}/tables/t", rows(name))
    assert kinds(tmp_path, sql=f"id = '{name}'") == {"table": 1, "log of a table": 1}
    found = Census(UPath(tmp_path), None, name).answer().found
    assert {each.kind for each in found} == {"table", "log of a table"}


READS = """
from spark_jobs.spec import Dimension, Field, Join, Lookup, Pipeline, Table, Topic, Transform

def topic(name, *more):
    at = Field(name="at", type="timestamp")
    return Topic(name=name, fields=(Field(name="id", type="string"), at, *more), event_time="at")

TWO = (topic("orders"), topic("sales", Field(name="amount", type="bigint")))
PAIRS = Join(
    left="orders", right="sales", on={"id": "id"}, within=("0 minutes", "1 hour"), prefix="by_"
)
TOWNS = Lookup(
    dimension=Dimension(
        table="shops.csv", key=(Field(name="of", type="bigint"),),
        fields=(Field(name="town", type="string"),),
    ),
    on={"of": "by_amount"},
)
KEPT = Transform(where="by_amount > 0")
SPEC = Pipeline(about="Sales.", watermark_delay="1 hour", GIVEN)
"""
FIRST = READS.replace("GIVEN", 'name="first", topics=TWO, steps=(PAIRS, TOWNS)')
SECOND = READS.replace(
    "GIVEN", 'name="second", topic=Table(of="first", event_time="at"), steps=(KEPT,)'
)
OWN = READS.replace(
    "GIVEN", "name='own', topic=TWO[1], steps=(Transform(sql='SELECT amount AS cents FROM rows'),)"
)
"""Pipelines that call a column otherwise, one of them by SQL, and look it up by a third name."""


def test_a_number_is_found_by_the_names_that_other_pipelines_have_for_it(tmp_path, monkeypatch):
    deployed(tmp_path, monkeypatch, FIRST, "first", second=SECOND, own=OWN)
    root = tmp_path / "root"
    parquet(root, "tables/first/p.parquet", pa.table({"by_amount": [17, 18]}))
    parquet(root, "tables/second/p.parquet", pa.table({"by_amount": [17, 18]}))
    parquet(root, "tables/own/p.parquet", pa.table({"cents": [17, 18]}))
    parquet(root, "sides/9f.parquet", pa.table({"of": [17, 18], "town": ["x", "y"]}))
    mark = json.dumps({"of": 17})
    parquet(root, "ops/outdated/p.parquet", pa.table({"key": [mark, '{"of": 18}']}))
    answer = census(root, sql="amount = 17")
    assert {each.place: each.entries for each in answer.found} == {
        "tables/first": 1, "tables/second": 1, "sides": 1, "ops/outdated": 1,
    }  # fmt: skip
    assert [each.partition(":")[0] for each in answer.unread] == ["first", "own"], "a town, by SQL"


@pytest.mark.parametrize(
    ("kind", "sql", "stored"),
    [
        ("date", "amount = DATE '1980-05-17'", struct.pack("<q", 3789)),
        ("date", "amount = DATE '1960-05-17'", struct.pack("<ii", -3516, 0)),
        ("decimal(9,2)", "amount = 12.50", struct.pack("<q", 1250)),
        ("int", "amount = -17", struct.pack("<ii", -17, 0)),
        ("float", "amount = 0.5", struct.pack("<fi", 0.5, 0)),
        ("bigint", "amount = 10", struct.pack("<q", 10)),
    ],
    ids=["date", "date before 1970", "decimal", "int below 0", "float", "a line end among bytes"],
)
def test_a_value_of_each_type_is_found_as_a_state_store_has_it(tmp_path, kind, sql, stored):
    asked = condition(sql, name="amount", type=kind)
    types = {"date": pa.date32(), "decimal(9,2)": pa.decimal128(9, 2), "int": pa.int32(),
             "float": pa.float32(), "bigint": pa.int64()}  # fmt: skip
    values = {"date": [-3516, 3789], "decimal(9,2)": ["12.50"], "int": [-17], "float": [0.5],
              "bigint": [10]}  # fmt: skip
    column = pa.array(values[kind], pa.int32() if kind == "date" else None).cast(types[kind])
    parquet(tmp_path, "tables/t/p.parquet", pa.table({"amount": column}))
    zipped(tmp_path, f"{PLACE}/spark/state/0/0/2_a.zip", b"\0\1" + stored + b"\2\0")
    found = Census(UPath(tmp_path), asked).answer().found
    assert {each.kind for each in found} == {"table", "state"}


def test_a_time_is_found_with_its_zone(tmp_path):
    parquet(tmp_path, "ops/late/p.parquet", kept(record("b")))
    write(tmp_path, "reports/t/run.json", {"problem": {"what": "at 2026-01-01T00:00:00.000Z it"}})
    assert kinds(tmp_path, sql="at = TIMESTAMP '2026-01-01 00:00:00Z'") == {"late": 1, "reports": 1}


def test_a_number_is_found_in_statistics_folders_and_state(tmp_path):
    write_deltalake(f"{tmp_path}/tables/t", rows("a", amount=17), partition_by=["amount"])
    write(tmp_path, f"{PLACE}/spark/state/0/0/1.delta", lz4_blocks(struct.pack("<q", 17) * 20))
    found = kinds(tmp_path, sql="amount = 17")
    assert found == {"table": 1, "log of a table": 1, "state": 20}


def test_another_field_of_a_good_record_with_the_same_number_is_not_it(tmp_path):
    parquet(tmp_path, "ops/late/p.parquet", kept(record("17", 3), record("a", 17)))
    assert kinds(tmp_path, sql="amount = 17") == {"late": 1}


def test_values_of_rows_that_a_pattern_finds_are_found_where_no_condition_can_be_asked(tmp_path):
    parquet(tmp_path, "tables/t/p.parquet", rows(CANARY))
    HIDES["reports"](tmp_path)
    assert kinds(tmp_path, sql="id LIKE '%y-4711'") == {"table": 1, "reports": 1}


@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC")], ids="-".join)
@pytest.mark.parametrize("sql", ["id = '{}'", "id LIKE '%{}'", "id IN ('b', '{}')"])
def test_a_text_is_found_in_the_other_normal_form_too(tmp_path, forms, sql):
    asked, stored = (normalize(form, "José") for form in forms)
    parquet(tmp_path, "ops/late/p.parquet", kept(record(stored), record("Jose"), record(asked)))
    parquet(tmp_path, "tables/t/p.parquet", rows(stored, "Jose"))
    assert kinds(tmp_path, sql=sql.format(asked)) == {"late": 2, "table": 1}


def test_a_text_within_a_list_is_found_in_the_other_normal_form_too(tmp_path):
    asked = condition("array_has(names, 'José')", name="names", type="array<string>")
    stored = json.dumps(json.loads(record("a")) | {"names": [normalize("NFD", "José")]})
    parquet(tmp_path, "ops/late/p.parquet", kept(stored.encode(), record("b")))
    [found] = Census(UPath(tmp_path), asked).answer().found
    assert (found.kind, found.entries) == ("late", 1)


def test_a_malformed_record_is_read_field_by_field(tmp_path):
    parquet(tmp_path, "ops/quarantine/p.parquet", kept(b'{"id": "b", "amount": 1e2, "shop": 5}'))
    assert kinds(tmp_path, sql="id LIKE 'b%'") == {"quarantine": 1}


def test_a_column_of_another_type_than_its_field_is_searched_and_that_is_said(tmp_path):
    parquet(tmp_path, "tables/t/p.parquet", pa.table({"amount": ["4711", "4711 EUR", "12"]}))
    found = census(tmp_path, "amount = 4711")
    assert [each.entries for each in found.found] == [2]
    assert "another type" in found.unread[0]


def test_what_cannot_be_read_is_said(tmp_path):
    write(tmp_path, "tables/t/part-0.parquet", b"PAR1 torn PAR1")
    found = census(tmp_path)
    assert [each.partition(":")[0] for each in found.unread] == ["tables/t/part-0.parquet"]


def test_a_link_to_a_folder_of_the_root_counts_nothing_twice_and_one_elsewhere_is_said(tmp_path):
    """A published table has one to its table's folder."""
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    HIDES["table"](root)
    HIDES["table"](elsewhere)
    (root / "published").mkdir()
    (root / "published" / "rows").symlink_to(root / "tables" / "t")
    (root / "published" / "other").symlink_to(elsewhere)
    found = census(root)
    assert [(each.place, each.entries) for each in found.found] == [("tables/t", 1)]
    assert [each.partition(":")[0] for each in found.unread] == ["published/other"]


def test_a_malformed_record_that_no_decoder_reads_is_said(tmp_path):
    """Its text may be in a code of the producer's: whoever looks for bytes does not see it."""
    coded = codecs.encode(CANARY, "rot13").encode()
    parquet(tmp_path, "ops/quarantine/p.parquet", kept(b'{"id": "%s", ' % coded, record("b")))
    found = census(tmp_path)
    assert found.found == ()
    assert len(found.unread) == 1
    assert "1 malformed records" in found.unread[0]


NAME = "Jürgen Groß-4711"
"""With letters that JSON, paths and other alphabets write otherwise."""
ESCAPED = json.dumps(NAME)[1:-1].encode()
FORMS = {
    "JSON's escapes": b'{"id": "%s"}' % ESCAPED,
    "JSON's escapes in capitals": b'{"id": "%s"}' % ESCAPED.replace(b"u00fc", b"u00FC"),
    "JSON within JSON": json.dumps({"row": json.dumps({"id": NAME})}).encode(),
    "JSON within torn JSON": json.dumps({"row": json.dumps({"id": NAME})}).encode()[:-3],
    "each letter escaped": b"".join(b"\\u%04x" % ord(each) for each in NAME),
    "a path": quote(f"tables/t/id={NAME}/p.parquet").encode(),
    "a path in a path": quote(quote(NAME)).encode(),
    "another normal form": normalize("NFD", NAME).encode(),
    "Avro, between letters": b"Q%c%s0z" % (2 * len(NAME.encode()), NAME.encode()),
    "UTF-16": f"<{NAME}>".encode("utf-16"),
    "Base64": base64.b64encode(f"a{NAME}bc".encode()),
    "Base64 of URLs": base64.urlsafe_b64encode(f"{NAME}".encode()),
    "Base64 in JSON": json.dumps({"v": base64.b64encode(f"ab{NAME}".encode()).decode()}).encode(),
    "hexadecimal": f"x{NAME}".encode().hex().upper().encode(),
    "gzip": gzip.compress(NAME.encode()),
    "bz2": bz2.compress(NAME.encode()),
    "xz": lzma.compress(NAME.encode()),
    "zstd": pa.Codec("zstd").compress(NAME.encode(), asbytes=True),
}


@pytest.mark.parametrize("by", ["bytes", "condition"])
@pytest.mark.parametrize("form", FORMS)
def test_a_text_is_found_in_each_form_that_a_file_may_have_it_in(tmp_path, form, by):
    write(tmp_path, "backup/x", FORMS[form])
    write(tmp_path, "backup/other", FORMS[form][:9])
    of = (None, NAME) if by == "bytes" else (condition(f"id = '{NAME}'"), "")
    found = Census(UPath(tmp_path), *of).answer()
    assert [(each.place, each.files) for each in found.found] == [("backup", 1)]


@pytest.mark.parametrize("form", [form for form in FORMS if form != "UTF-16"])
def test_bytes_are_found_in_a_value_that_was_escaped_or_compressed_by_itself(tmp_path, form):
    parquet(tmp_path, "archive/sales/p.parquet", kept(FORMS[form], record("b")).drop(["topic"]))
    [found] = Census(UPath(tmp_path), None, NAME).answer().found
    assert (found.kind, found.entries) == ("archive", 1)


@pytest.mark.parametrize("text", ["über%20uns", "C:\\über\\%41", "50%25\tTee", "\\u0041 é"])
@pytest.mark.parametrize("escape", [json.dumps, quote, lambda text: quote(json.dumps(text))])
def test_a_text_with_the_signs_of_escapes_is_found_where_it_is_escaped(tmp_path, text, escape):
    """In what is no JSON as a whole, beside what would be unescaped for hours."""
    write(tmp_path, "backup/x", f"said {escape(text)}".encode())
    write(tmp_path, "backup/y", b"%" + b"25" * 200_000 + b"41")
    for of in ((None, text), (condition(f"id = '{text}'"), "")):
        [found] = Census(UPath(tmp_path), *of).answer().found
        assert found.files == 1


def test_digits_are_found_in_numbers_of_rows_statistics_and_state(tmp_path):
    write_deltalake(f"{tmp_path}/tables/t", rows("a", amount=491511234567))
    stored = lz4_blocks(struct.pack("<q", 491511234567))
    write(tmp_path, f"{PLACE}/spark/state/0/0/1.delta", stored)
    found = Census(UPath(tmp_path), None, "491511234567").answer().found
    assert {each.kind for each in found} == {"table", "log of a table", "state"}


def test_a_decimal_is_found_with_the_digits_that_its_partition_has(tmp_path):
    log = {"add": {"path": "amount=12.50/p.parquet", "partitionValues": {"amount": "12.50"}}}
    write(tmp_path, "tables/t/_delta_log/00000000000000000000.json", log)
    asked = condition("amount = 12.5", name="amount", type="decimal(9,2)")
    found = Census(UPath(tmp_path), asked).answer()
    assert [each.kind for each in found.found] == ["log of a table"]


def test_a_key_that_no_field_names_is_found(tmp_path):
    given = kept(record("b")).set_column(4, "key", pa.array([CANARY.encode()], pa.binary()))
    parquet(tmp_path, "ops/late/p.parquet", given)
    assert kinds(tmp_path) == {"late": 1}


def test_a_value_that_a_step_has_put_into_another_text_is_found(tmp_path):
    joined = pa.table({"label": [f"s_{CANARY}_x", f"s_{OTHER}"], "nested": [[{"id": "b"}]] * 2})
    parquet(tmp_path, "tables/t/p.parquet", joined)
    assert kinds(tmp_path) == {"table": 1}


def test_a_dead_place_is_told_as_one(tmp_path):
    parquet(tmp_path, "tables/t.v2/p.parquet", rows(CANARY))
    write(tmp_path, "checkpoints/t/live.json", {"dead": [{"folder": "v2", "table": "t.v2"}]})
    assert kinds(tmp_path) == {"dead place: table": 1}


def test_nothing_that_is_told_has_a_value(tmp_path):
    for hide in HIDES.values():
        hide(tmp_path)
    assert CANARY not in repr(census(tmp_path))


def test_a_census_changes_no_file(tmp_path):
    for hide in HIDES.values():
        hide(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    census(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_root_that_spark_wrote_is_read_whole_and_its_state_too(tmp_path):
    with tarfile.open(FROZEN) as frozen:
        frozen.extractall(tmp_path, filter="data")
    [root] = (path.parent for path in tmp_path.glob("*/checkpoints"))
    files = f"read_parquet('{root}/tables/aircraft_rotations/*.parquet')"
    tail, expected = duckdb.sql(
        f"SELECT tail_number, count(*) FROM {files} WHERE tail_number IS NOT NULL GROUP BY 1 "
        "ORDER BY 2 DESC, 1 LIMIT 1"
    ).fetchall()[0]
    wanted = Condition(f"tail_number = '{tail}'", prepare(FLIGHTS, str(root), None))
    answer = Census(UPath(root), wanted).answer()
    found = {(each.place, each.kind): each.entries for each in answer.found}
    assert found["tables/aircraft_rotations", "table"] == expected
    assert found["checkpoints/aircraft_rotations/v1", "state"] > 0
    assert [each for each in answer.unread if "columns are compared" not in each] == []


def test_progress_is_told_beside_the_answer(tmp_path, monkeypatch):
    HIDES["table"](tmp_path)
    monkeypatch.setattr(find, "SAID_SECONDS", 0.0)
    where = {"SLUICE_ROOT": str(tmp_path)}
    words = ("find", "--bytes", CANARY, "--format", "json")
    ran = CliRunner().invoke(app, words, env=where)
    told = json.loads(ran.stdout)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert (ran.exit_code, told["files"]) == (0, len(files))
    assert ran.stderr.splitlines()[0].startswith(f"0 of {len(files)} ")
    assert CANARY not in ran.stderr


def test_each_path_that_sluice_writes_is_of_a_kind():
    lines = re.findall(r"^<root>/(\S+) ", paths.__doc__ or "", re.MULTILINE)
    assert len(lines) > 15
    for line in lines:
        one = re.sub(r"<\w+>", "x", re.sub(r"\{(\w+)[^}]*\}", r"\1", line.replace("<N>", "1")))
        assert REST not in (kind_of(one), kind_of(f"{one}/x")), line


@pytest.mark.parametrize("sql", ["nothing = 1", "id = ", "amount = 'x' AND"])
def test_what_is_no_condition_over_fields_is_refused(sql):
    with pytest.raises(Exception, match=r".") as refused:
        condition(sql).check()
    assert refused.value is not None
