"""What a catalog is told of a published table, without one; a real one: tests/spark/test_catalog.py."""

import socket
from contextlib import closing
from io import BytesIO
from threading import Thread

import deltalake
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from spark_jobs.errors import CatalogRefused, SettingInvalid
from spark_jobs.settings.roots import Catalog, parsed
from spark_jobs.spec import Field, Transform
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table import thrift
from spark_jobs.table.metastore import (
    MARK,
    Column,
    Entry,
    Metastore,
    _new,
    changed,
    entry,
    meanings,
    register,
    try_to_register,
)
from spark_jobs.table.thrift import Value, structs, text, texts
from tests.harness.refused import fails
from tests.unit.specs import aggregate, deduplicate, group_state, pipeline, topic

AT = Field(name="at", type="timestamp", about="when it was sold, UTC")
SPEC = pipeline(
    owner="tills",
    topic=topic(
        fields=(
            Field(name="id", type="string"),
            AT,
            Field(name="shop", type="string", about="its number"),
            Field(name="amount", type="bigint", required=False, about="cents"),
        )
    ),
)
ENTRY = Entry(
    "sales", "file:/data/published/sales", "t1", "Sales.", "tills", (Column("n", "int", ""),)
)
TABLE = st.dictionaries(
    st.integers(1, 30000),
    st.one_of(
        st.text(max_size=20).map(text),
        st.integers(-(2**31), 2**31 - 1).map(lambda n: Value(thrift.I32, n)),
        st.integers(-(2**63), 2**63 - 1).map(lambda n: Value(thrift.I64, n)),
        st.booleans().map(lambda n: Value(thrift.BOOL, n)),
        st.floats(allow_nan=False).map(lambda n: Value(thrift.DOUBLE, n)),
        st.dictionaries(st.text(max_size=5), st.text(max_size=5)).map(texts),
        st.lists(st.text(max_size=5)).map(lambda many: structs([{1: text(one)} for one in many])),
    ),
    max_size=6,
)


@pytest.fixture
def published(tmp_path, monkeypatch) -> Paths:
    """A root with a published table, and a catalog that nobody serves."""
    monkeypatch.setenv("SLUICE_CATALOG", "thrift://127.0.0.1:1/shops")
    paths = Paths(str(tmp_path), SPEC)
    columns = pa.schema(
        [
            ("window_end", pa.timestamp("us", "UTC")),
            ("shop", pa.string()),
            ("sales", pa.int64()),
            ("parts", pa.map_(pa.string(), pa.list_(pa.struct([("n", pa.int16())])))),
        ]
    )
    deltalake.DeltaTable.create(str(paths.published_table), deltalake.Schema.from_arrow(columns))
    return paths


def test_an_entry_has_the_columns_of_the_published_table_with_what_the_spec_says_of_them(published):
    made = entry(published, SPEC)
    assert made == Entry(
        "sales_hourly",
        f"file:{published.published_table}",
        str(deltalake.DeltaTable(str(published.published_table)).metadata().id),
        "Sales.",
        "tills",
        (
            Column("window_end", "timestamp", ""),
            Column("shop", "string", "its number"),
            Column("sales", "bigint", "count(*)"),
            Column("parts", "map<string,array<struct<n:smallint>>>", ""),
        ),
    )


def test_before_the_first_publish_there_is_nothing_to_register(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_CATALOG", "thrift://127.0.0.1:1/shops")
    assert register(Paths(str(tmp_path), SPEC), SPEC) is None


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((deduplicate(),), {"at": AT.about, "shop": "its number", "amount": "cents"}),
        ((aggregate(),), {"shop": "its number", "sales": "count(*)", "turnover": "sum(amount)"}),
        (
            (Transform(where="amount > 0"), deduplicate()),
            {"at": AT.about, "shop": "its number", "amount": "cents"},
        ),
        ((Transform(sql="SELECT at, 1 AS shop FROM rows"),), {}),
        (
            (group_state(output=(Field(name="shop", type="string", about="a till's"),)),),
            {"shop": "a till's"},
        ),
    ],
    ids=["as they are", "measures", "some rows", "SQL may mean another thing", "state"],
)
def test_columns_have_meanings_as_far_as_the_spec_tells(steps, expected):
    assert meanings(SPEC.model_copy(update={"steps": steps})) == expected


@pytest.mark.parametrize(
    "url", ["metastore:9083", "thrift://a:1", "http://a:1/b", "thrift://a:1/b;c"]
)
def test_another_address_is_refused(url):
    with fails(SettingInvalid, "no_catalog", value=url):
        parsed(url)


def test_a_catalog_that_is_away_is_an_error_of_the_command_and_none_of_a_publish(published, caplog):
    with fails(CatalogRefused, "unreachable", catalog="thrift://127.0.0.1:1/shops"):
        register(published, SPEC)
    try_to_register(published, SPEC)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x80\x01\x00\x02\x7f\xff\xff\xff"]
)
def test_a_server_of_another_kind_is_no_catalog(answer):
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            with server.accept()[0] as asked:
                asked.recv(4096)
                asked.sendall(answer)

        Thread(target=serve, daemon=True).start()
        at = Catalog(f"thrift://127.0.0.1:{port}/shops", "127.0.0.1", port, "shops")
        with fails(CatalogRefused, "unreachable"):
            Metastore(at).put(ENTRY)


@given(TABLE)
def test_what_is_read_is_written_back_as_it_was(fields):
    found = thrift.decoded(BytesIO(thrift.encoded(thrift.STRUCT, fields)), thrift.STRUCT)
    assert found == fields


@given(TABLE)
def test_what_others_say_in_an_entry_stays_and_a_second_time_changes_nothing(foreign):
    ours = {1, 2, 3, 7, 8, 9, 12}
    known = _new("sales", "shops") | {n: v for n, v in foreign.items() if n not in ours}
    known[9] = texts({"team": "tills", MARK: "sales"})
    made = changed(known, ENTRY)
    assert {n: made[n] for n in known if n not in ours} == {
        n: known[n] for n in known if n not in ours
    }
    assert made[9].value[2][b"team"] == b"tills"
    assert changed(made, ENTRY) == made
    assert changed(made, ENTRY._replace(location="file:/elsewhere")) != made
