"""CSV, lines and compressed values through the port; Python's csv module writes what is read."""

import csv
import gzip
import io
import zlib
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
import zstandard
from hypothesis import given, strategies as st

from spark_jobs.decode.compressed_decoder import PART, PIECE, gunzip
from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Avro, Compressed, Csv, Field, Format, Json, Lines, Topic
from tests.harness.refused import fails
from tests.unit.decoding import Decoding, records

FIELDS = (
    Field(name="id", type="string"),
    Field(name="at", type="timestamp"),
    Field(name="n", type="int", required=False),
    Field(name="price", type="decimal(9,2)", required=False),
)
COLUMNS = ("id", "at", "n", "price")
AT = datetime(2026, 11, 26, 10, tzinfo=UTC)


def decoding(format_: Format, fields: tuple[Field, ...] = FIELDS) -> Decoding:
    return Decoding(Topic(name="t", fields=fields, event_time="at", format=format_))


ROWS: dict[bytes, Any] = {
    b"a,2026-11-26T10:00:00Z,7,12.5": ("a", AT, 7, Decimal("12.50")),
    b"a,2026-11-26T10:00:00Z,7,12.5\r\n": ("a", AT, 7, Decimal("12.50")),
    b'"a ""b"", c\nd",2026-11-26T10:00:00Z,,': ('a "b", c\nd', AT, None, None),
    b'"",2026-11-26T10:00:00Z,,': ("", AT, None, None),
    b",2026-11-26T10:00:00Z,,": "Object missing required field `id`, or it is null",
    b"a,2026-11-26T10:00:00Z,7": "it has 3 cells, not 4",
    b"a,2026-11-26T10:00:00Z,7,1,": "it has 5 cells, not 4",
    b"a,2026-11-26T10:00:00Z,7.0,1": "`$.n` is text that is no int",
    b"a,2026-11-26T10:00:00Z,2147483648,1": "`$.n` is text that is no int",
    b"a,2026-11-26T10:00:00Z, 7,1": "`$.n` is text that is no int",
    b"a,2026-11-26 10:00,7,1": "`$.at` is text that is no timestamp",
    b"a,2026-11-26T10:00:00Z,7,1.234": "`$.price` is a number that decimal(9,2) has not",
    b'a"b,2026-11-26T10:00:00Z,7,1': "cell 1 has a quote that is not around all of it",
    b'"a"b,2026-11-26T10:00:00Z,7,1': "cell 1 has a quote that is not around all of it",
    b'"a,2026-11-26T10:00:00Z,7,1': "cell 1 has a quote that is not around all of it",
    b"a,2026-11-26T10:00:00Z,7,1\nb": "it has several lines",
    b"\xff,2026-11-26T10:00:00Z,7,1": "it is no UTF-8",
    b"": "the value is empty",
}


@pytest.mark.parametrize("value", ROWS)
def test_a_row_of_csv_is_read_whole_or_refused(value):
    row, why = decoding(Csv(columns=COLUMNS)).row(value)
    assert (row if why is None else why) == ROWS[value]


def test_a_batch_has_good_and_bad_rows_and_a_tombstone():
    columns, reasons = decoding(Csv(columns=COLUMNS)).columns([*ROWS, None])
    assert columns[0][:4] == ["a", "a", 'a "b", c\nd', ""]
    assert [why for why in reasons if why] == [
        *[why for why in ROWS.values() if isinstance(why, str)],
        "tombstone: the value is null",
    ]


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2, max_size=4),
    st.sampled_from(",;|\t^"),
)
def test_what_pythons_csv_writes_comes_back_equal(cells, delimiter):
    out = io.StringIO()
    quoting = csv.QUOTE_ALL if any("\0" in each for each in cells) else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter=delimiter, quoting=quoting).writerow(cells)
    names = tuple(f"c{n}" for n in range(len(cells)))
    fields = tuple(Field(name=name, type="string", required=False) for name in names)
    at = Field(name="at", type="timestamp", part="timestamp")
    by = decoding(Csv(columns=names, delimiter=delimiter, null=None), (*fields, at))
    row, why = by.row(out.getvalue().encode())
    assert (why, [*row[:-1]]) == (None, cells)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_row_that_pythons_csv_reads_or_have_a_reason(value):
    fields = (Field(name="a", type="string"), Field(name="b", type="string"))
    at = Field(name="at", type="timestamp", part="timestamp")
    row, why = decoding(Csv(columns=("a", "b"), null=None), (*fields, at)).row(value)
    if why is None:
        text = io.StringIO(value.decode(), newline="")
        assert [[*row[:-1]]] == [each for each in csv.reader(text, strict=True) if each]


def test_cells_that_no_field_reads_and_other_letters_are_declared():
    by = decoding(Csv(columns=("x", *COLUMNS), delimiter=";", quote="'", null="NULL"))
    assert by.row(b"?;'a;b';2026-11-26T10:00:00Z;NULL;NULL") == (("a;b", AT, None, None), None)
    bare = decoding(Csv(columns=COLUMNS, quote=None))
    assert bare.row(b'"a,2026-11-26T10:00:00Z,,')[0][0] == '"a'


def test_a_line_gives_its_groups():
    by = decoding(
        Lines(pattern=r"(?P<at>\S+) \[(?P<id>\w+)\](?: n=(?P<n>\d+))?(?P<price>)"), FIELDS[:3]
    )
    assert by.row(b"2026-11-26T10:00:00Z [a] n=7\n") == (("a", AT, 7), None)
    assert by.row(b"2026-11-26T10:00:00Z [a]") == (("a", AT, None), None)
    assert by.row(b"nothing")[1] == "it does not match the pattern"
    assert by.row(b"\xff")[1] == "it is no UTF-8"
    whole = decoding(
        Lines(),
        (Field(name="line", type="string"), Field(name="at", type="timestamp", part="timestamp")),
    )
    assert whole.row(b"any text")[0][0] == "any text"


@pytest.mark.parametrize(
    ("format_", "told"),
    [
        (lambda: decoding(Csv(columns=("id", "at"))), {"what": "cell of format.columns"}),
        (lambda: decoding(Lines(pattern="(?P<id>.)")), {"what": "group of format.pattern"}),
        (lambda: Csv(columns=("a", "a")), {"fields": "columns"}),
        (lambda: Csv(columns=("a",), delimiter='"'), {"fields": "quote"}),
        (lambda: Lines(pattern="("), {"fields": "pattern"}),
        (lambda: Lines(pattern="."), {"fields": "pattern"}),
        (lambda: Compressed(by="gzip", format=Avro(registry="main")), {"fields": "format"}),
        (lambda: Compressed(by="gzip", format=Compressed(by="gzip")), {"fields": "format"}),
    ],
)
def test_declarations_are_refused_by_field(format_, told):
    with fails(SpecInvalid, "column_absent" if "what" in told else "fields_refused", **told):
        format_()


JSON = b'{"id": "a", "at": "2026-11-26T10:00:00Z"}'


def unsized(value: bytes) -> bytes:
    """As a writer of a stream does, who does not know the size."""
    made = zstandard.ZstdCompressor().compressobj()
    return made.compress(value) + made.flush()


def bomb(by: str, size: int) -> bytes:
    value = b'{"id": "' + b"a" * size + b'", "at": "2026-11-26T10:00:00Z"}'
    return gzip.compress(value) if by == "gzip" else unsized(value)


GOOD = {
    "gzip": [gzip.compress(JSON), gzip.compress(JSON[:9]) + gzip.compress(JSON[9:])],
    "zstd": [zstandard.compress(JSON), unsized(JSON), unsized(JSON + b" " * 100_000), zstandard.compress(JSON[:9]) + unsized(JSON[9:])],
}  # fmt: skip


@pytest.mark.parametrize("by", ["gzip", "zstd"])
def test_a_compressed_value_is_what_is_in_it(by):
    made = decoding(Compressed(by=by, at_most=200_000))
    for value in GOOD[by]:
        assert made.row(value) == (("a", AT, None, None), None)
    other = Compressed(by=by, format=Csv(columns=COLUMNS))
    row = b"a,2026-11-26T10:00:00Z,7,1"
    packed = gzip.compress(row) if by == "gzip" else zstandard.compress(row)
    assert decoding(other).row(packed) == (("a", AT, 7, Decimal("1.00")), None)


@pytest.mark.parametrize("by", ["gzip", "zstd"])
def test_what_is_cut_or_changed_or_too_large_or_plain_is_malformed(by):
    made = decoding(Compressed(by=by, format=Json(), at_most=200_000))
    large = "it has more than 200,000 bytes when it is inflated"
    values: list[bytes | None] = [
        *[value[:-1] for value in GOOD[by]],
        JSON,
        bomb(by, 5_000_000),
        GOOD[by][0] + b"x",
        gzip.compress(b"[") if by == "gzip" else zstandard.compress(b"["),
        b"",
        None,
    ]
    _, reasons = made.columns(values)
    assert all(reasons)
    assert reasons[-5] == large
    assert reasons[-2:] == ["the value is empty", "tombstone: the value is null"]
    assert decoding(Compressed(by=by, at_most=6_000_000)).row(bomb(by, 5_000_000))[1] is None


@given(st.data())
def test_changed_bytes_of_gzip_are_malformed_or_what_gzip_reads(data):
    value = bytearray(gzip.compress(JSON))
    value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))
    _, why = decoding(Compressed(by="gzip")).row(bytes(value))
    try:
        same = gzip.decompress(bytes(value)) == JSON
    except (OSError, EOFError, zlib.error):
        same = False
    assert (why is None) == same


EMPTY_MEMBER = {"gzip": gzip.compress(b""), "zstd": zstandard.compress(b"")}


@pytest.mark.parametrize("by", ["gzip", "zstd"])
def test_a_value_of_very_many_members_is_malformed(by):
    packed = {"gzip": gzip.compress, "zstd": zstandard.compress}[by](JSON)
    made = decoding(Compressed(by=by))
    assert made.row(EMPTY_MEMBER[by] * 900 + packed) == (("a", AT, None, None), None)
    _, why = made.row(EMPTY_MEMBER[by] * 40_000 + packed)
    assert why == f"it has more than 1,000 members of {by}"


def test_no_part_of_a_value_is_read_or_copied_once_for_each_member():
    """By the bytes that zlib is given: at most a piece more for each member."""
    given, made = 0, zlib.decompressobj

    class Counted:
        def __init__(self, window):
            self._member = made(window)

        def __getattr__(self, name):
            return getattr(self._member, name)

        def decompress(self, piece, left):
            nonlocal given
            given += len(piece)
            return self._member.decompress(piece, left)

    value = EMPTY_MEMBER["gzip"] * 900 + gzip.compress(bytes(range(256)) * 4_000, compresslevel=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zlib, "decompressobj", Counted)
        assert len(gunzip(value, 10_000_000)) == 1_024_000
    assert given <= len(value) + 900 * PIECE["gzip"]


@pytest.mark.parametrize("by", ["gzip", "zstd"])
@pytest.mark.parametrize("around", [{}, {"envelope": "cloudevents"}])
def test_values_that_grow_are_decoded_in_parts_of_bounded_bytes(by, around):
    """Most are five megabytes: what one part holds is bounded, and all come in order."""
    size, count = 5_000_000, 12
    packed = {"gzip": lambda b: gzip.compress(b, 1), "zstd": zstandard.compress}[by]
    events = around.get("envelope") == "cloudevents"

    def value(number: int) -> bytes:
        data = f'{{"id":"{number}","note":"{"x" * (size if number % 4 else 10)}"}}'
        whole = f'{{"specversion":"1.0","data":{data}}}' if events and number % 2 else data
        return packed(whole.encode())

    binary = [("ce_specversion", b"1.0")]
    of = Topic(
        name="t",
        event_time="at",
        format=Compressed(by=by),
        fields=(Field(name="id", type="string"), Field(name="note", type="string"), Field(name="at", type="timestamp", part="timestamp")),
        **around,
    )  # fmt: skip
    given = records(
        [b"broken", *map(value, range(count))],
        headers=[[], *([] if number % 2 else binary for number in range(count))]
        if events
        else None,
    )
    parts = [*Decoding(of).prepared.decoder().parts(given)]
    inflated = [sum(column.nbytes for column in part.columns) for part in parts]
    assert max(inflated) < (PART + size) * (2 if events else 1) + 100_000
    ids = [each for part in parts for each in part.columns[0].to_pylist()]
    assert ids == [None, *map(str, range(count))]
    reasons = [why for part in parts for why in part.reasons]
    assert [number for number, why in enumerate(reasons) if why] == [0]


@pytest.mark.parametrize("values", [Json(), Compressed(by="gzip")])
def test_keys_that_grow_are_decoded_in_parts_of_bounded_bytes_too(values):
    size, count = 5_000_000, 12
    of = Topic(
        name="t",
        event_time="at",
        format=values,
        key=Compressed(by="gzip"),
        fields=(Field(name="id", type="string"), Field(name="note", type="string", part="key", path="note"), Field(name="at", type="timestamp", part="timestamp")),
    )  # fmt: skip
    packed = [f'{{"id":"{number}"}}'.encode() for number in range(count)]
    if values != Json():
        packed = [*map(gzip.compress, packed)]
    key = gzip.compress(f'{{"note":"{"x" * size}"}}'.encode(), 1)
    given = records([b"broken", *packed], [key, b"no gzip", *[key] * (count - 1)])
    parts = [*Decoding(of).prepared.decoder().parts(given)]
    inflated = [sum(column.nbytes for column in part.columns) for part in parts]
    assert max(inflated) < PART + size + 100_000
    ids = [each for part in parts for each in part.columns[0].to_pylist()]
    assert ids == [None, None, *map(str, range(1, count))]
    notes = [each and len(each) for part in parts for each in part.columns[1].to_pylist()]
    assert notes == [None, None, *[size] * (count - 1)]
    reasons = [why for part in parts for why in part.reasons]
    assert [number for number, why in enumerate(reasons) if why] == [0, 1]


MARK = b"\xef\xbb\xbf"
AT_TEXT = b"2026-11-26T10:00:00Z"


@pytest.mark.parametrize(
    ("format_", "value", "id_"),
    [
        (Csv(columns=COLUMNS), MARK + b"a," + AT_TEXT + b",7,1", "a"),
        (Csv(columns=COLUMNS), MARK + b'"a,b",' + AT_TEXT + b",7,1", "a,b"),
        (Lines(pattern=r"(?P<id>\S+) (?P<at>\S+)"), MARK + b"a " + AT_TEXT, "a"),
    ],
)
def test_a_byte_order_mark_is_no_part_of_a_text(format_, value, id_):
    fields = tuple(each for each in FIELDS if each.name in ("id", "at"))
    assert decoding(format_, fields).columns([value, value[3:]]) == (
        [[id_] * 2, [AT] * 2],
        [None] * 2,
    )


def test_a_byte_order_mark_is_no_part_of_a_key_of_text_and_stays_within_one():
    fields = (Field(name="id", type="string", part="key"), Field(name="at", type="timestamp"))
    of = Decoding(Topic(name="t", fields=fields, event_time="at"))
    value = b'{"at":"' + AT_TEXT + b'"}'
    keys = [MARK + b"a", b"a", b"a" + MARK]
    assert of.of(records([value] * 3, keys))[0][0] == ["a", "a", "a\ufeff"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_json_behind_a_byte_order_mark_is_malformed_by_its_name(encoding):
    text = f'{{"id":"a","at":"{AT_TEXT.decode()}"}}'
    _, why = decoding(Json()).row(text.encode(encoding))
    assert why == "not JSON in UTF-8: it begins with a byte order mark"
