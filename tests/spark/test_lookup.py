"""Lookups: the types of keys and fields, several of them, and the records of a changed key. With
times and versions: test_as_of.py.
"""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from spark_jobs.errors import SpecInvalid
from spark_jobs.runs.explain import deep
from spark_jobs.settings.installation import Settings
from spark_jobs.side.dimension import DimensionSide
from spark_jobs.spec import Dimension, Field, Lookup
from spark_jobs.steps.beside.lookup import with_fields
from spark_jobs.values.conversions import arrow_type
from tests.harness.refused import fails
from tests.harness.roots import rows_of
from tests.harness.turns import alike
from tests.spark.test_several_topics import EU, US, Sales
from tests.unit.specs import aggregate, deduplicate

NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)
pytestmark = alike("a lookup")


def test_spark_has_the_values_of_each_type(spark, tmp_path):
    kinds = {
        "n": ("bigint", 7), "d": ("decimal(5,2)", Decimal("1.25")), "at": ("timestamp", NEW_YEAR),
        "local": ("timestamp_ntz", NEW_YEAR.replace(tzinfo=None)), "day": ("date", date(2013, 1, 1)),
        "yes": ("boolean", True), "x": ("double", 0.5), "raw": ("binary", b"\xff"), "t": ("string", "ü"),
        "parts": ("array<string>", ["a", None]), "of": ("struct<a:int,b:string>", {"a": 1, "b": "c"}),
        "by": ("map<string,int>", [("k", 1)]),
    }  # fmt: skip
    types = [pa.field(name, arrow_type(kind)) for name, (kind, _) in kinds.items()]
    rows = [{name: value for name, (_, value) in kinds.items()}, dict.fromkeys(kinds) | {"n": 8}]
    fields = [Field(name=name, type=kind, required=False) for name, (kind, _) in kinds.items()]
    key = (Field(name="number", type="bigint", path="n"),)
    side = DimensionSide(
        Dimension(name="all", table=str(tmp_path / "all"), key=key, fields=tuple(fields)),
        Settings.from_environment(),
    )
    for given in (rows, []):
        stored = pa.Table.from_pylist(given, pa.schema(types))
        deltalake.write_deltalake(str(tmp_path / "all"), stored, mode="overwrite")
        found = side.rows(spark, side.now()).orderBy("n")
        assert [dict(f.simpleString().split(":", 1) for f in found.schema.fields)[f.name] for f in fields] == [
            kind for kind, _ in kinds.values()
        ]  # fmt: skip
        assert found.select(*kinds).toArrow().to_pylist() == given


def test_two_topics_have_lookups_before_and_behind_an_aggregate(kafka, tmp_path):
    """Of three shops the third has no region, and of two regions the second no manager."""
    made = Sales(kafka, tmp_path)
    (tmp_path / "regions.csv").write_text("shop,region\nshop 0,north\nshop 1,south\n")
    (tmp_path / "managers.jsonl").write_text('{"region": "north", "manager": "Ann"}\n')
    regions, managers = (
        Dimension(
            table=str(tmp_path / file), key=(key,), fields=(Field(name=field, type="string"),)
        )
        for file, key, field in (
            ("regions.csv", "shop", "region"), ("managers.jsonl", "region", "manager"),
        )
    )  # fmt: skip
    steps = (
        Lookup(dimension=regions, on={"shop": "shop"}, missing="quarantine"),
        deduplicate(),
        aggregate(keys=("topic", "region")),
        Lookup(dimension=managers, on={"region": "region"}),
    )
    made.declare(steps=steps, state_checks_off=("malformed_share", "rejected_share"))
    [line] = deep(made.spec, made.settings)
    assert line.endswith(
        "topic string, region string, sales bigint, turnover bigint, manager string"
    )
    for topic in (EU, US):
        made.send(topic, *(NEW_YEAR + timedelta(minutes=10) * n for n in range(6)), copies=2)
    assert made.run().account.malformed == 2 * 2 * 2
    for topic in (EU, US):
        made.send(topic, NEW_YEAR + timedelta(hours=5))
    made.run()
    found = {
        (row["topic"], row["region"], row["sales"], row["manager"])
        for row in rows_of(made.paths.table)
    }
    wanted = {("north", 2, "Ann"), ("south", 2, None)}
    assert found == {(of.name, *row) for of in made.topics for row in wanted}
    unmatched = Counter()
    for row in made.ops("batches"):
        unmatched.update(dict(row["unmatched"] or ()))
    assert unmatched == {"regions": 0, "managers": 2}
    assert {row["reason"] for row in made.ops("quarantine")} == {"no regions for shop"}


def looked_up(spark, folder, key: str, stored: list, sql: str) -> list:
    """What rows of SQL, of a column `k`, find: of each the number of a stored key."""
    places = pa.array(range(len(stored)), pa.int64())
    keys = pa.array(stored, arrow_type(key))
    deltalake.write_deltalake(str(folder), pa.table({"k": keys, "n": places}), mode="overwrite")
    dimension = Dimension(
        name="of", table=str(folder), key=(Field(name="k", type=key),),
        fields=(Field(name="n", type="bigint"),),
    )  # fmt: skip
    side, step = (
        DimensionSide(dimension, Settings.from_environment()),
        Lookup(dimension=dimension, on={"k": "k"}),
    )
    sides = {"of": side.rows(spark, side.now())}
    found = with_fields(spark.sql(f"SELECT k FROM VALUES {sql} AS v(k)"), step, sides, "at")
    return [row["n"] for row in found.collect()]


def test_a_row_finds_the_row_of_its_very_key_or_none(spark, tmp_path):
    texts = ["a", "a ", "A", "", "\u00e9", "e\u0301", None]
    sql = "('a'), ('a '), ('A'), (''), ('\u00e9'), ('e\u0301'), (NULL), (' a')"
    assert looked_up(spark, tmp_path, "string", texts, sql) == [0, 1, 2, 3, 4, 5, None, None]
    sql = "(1.50BD), (NULL), (-0.00BD), (1.51BD)"
    decimals = [Decimal("1.50"), Decimal("0.00"), None]
    assert looked_up(spark, tmp_path / "d", "decimal(3,2)", decimals, sql) == [0, None, 1, None]


@pytest.mark.parametrize(
    "sql",
    ["(7)", "(7L)", "(7.0D)", "('7' COLLATE UTF8_LCASE)", "(DATE'2026-01-01')", "(true)"],
)
def test_a_row_whose_key_has_another_type_is_refused(spark, tmp_path, sql):
    with fails(SpecInvalid, "looked_up_by_other_type", name="k", key="k", type="string"):
        looked_up(spark, tmp_path, "string", ["7", "07"], sql)


KEYS = {
    "string": ["a", "a \"b\" \\ \u00e9\n", "", "null"],
    "bigint": [2**63 - 1, -1],
    "decimal(38,19)": [Decimal("0.1234567890123456789"), Decimal(-1)],
    "boolean": [True, False],
    "date": [date(2013, 1, 1), date(1582, 10, 4), date(9999, 12, 31)],
    "timestamp": [NEW_YEAR, NEW_YEAR + timedelta(microseconds=1), datetime(1, 1, 2, tzinfo=UTC)],
    "timestamp_ntz": [NEW_YEAR.replace(tzinfo=None), datetime(2013, 1, 1, 1, 2, 3, 4)],  # noqa: DTZ001 - it has none
}  # fmt: skip


@pytest.mark.parametrize("kind", KEYS)
def test_the_records_of_a_changed_key_are_found_whatever_its_type(spark, tmp_path, kind):
    keys = pa.array(KEYS[kind], arrow_type(kind))
    table = pa.table({"k": keys, "n": pa.array([1] * len(keys))})
    dimension = Dimension(
        name="of", table=str(tmp_path / "of"), key=(Field(name="k", type=kind),),
        fields=(Field(name="n", type="bigint"),),
    )  # fmt: skip
    side = DimensionSide(dimension, Settings.from_environment())
    deltalake.write_deltalake(dimension.table, table)
    first = side.now()
    deltalake.write_deltalake(dimension.table, table.slice(0, 0), mode="overwrite")
    changed = [each.key for each in side.changed(spark, first, side.now())]
    told = spark.createDataFrame([(each,) for each in changed], "k string")
    read = told.select(F.from_json("k", f"k {kind}").k.alias("k")).toArrow()["k"].to_pylist()
    assert sorted(read) == sorted(KEYS[kind])
