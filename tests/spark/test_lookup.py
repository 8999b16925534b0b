"""Lookups of rows with times: by the noted version of each batch, by the newest after a repair, by
DuckDB.
"""

import json
import shutil
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from spark_jobs.checkpoint import pins
from spark_jobs.errors import SpecInvalid
from spark_jobs.runs.explain import deep
from spark_jobs.settings.installation import Settings
from spark_jobs.side.dimension import DimensionSide
from spark_jobs.spec import Aggregate, Dimension, Field, Lookup, Pipeline, Tumbling
from spark_jobs.steps.beside.lookup import with_fields
from spark_jobs.storage import failpoint
from spark_jobs.topics.flights import FLIGHTS
from spark_jobs.values.conversions import arrow_type
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.crash import Images, over
from tests.harness.refused import fails
from tests.harness.roots import rows_of
from tests.harness.turns import alike
from tests.spark import truth
from tests.spark.operators import ON_TIME, Operator
from tests.spark.test_repair import Repairs
from tests.spark.test_several_topics import EU, US, Sales
from tests.unit.specs import aggregate, deduplicate

NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)
HOUR = Tumbling(size="1 hour")
BEGIN = "time_bucket(INTERVAL 1 HOUR, event_time)"
CARRIERS = [
    "9E",
    "AA",
    "AS",
    "B6",
    "DL",
    "EV",
    "F9",
    "FL",
    "HA",
    "MQ",
    "OO",
    "US",
    "VX",
    "WN",
    "YV",
]
TIMES = pa.timestamp("us", "UTC")
COLUMNS = pa.schema(
    [("carrier", pa.string()), ("since", TIMES), ("until", TIMES), ("fee", pa.int64()), ("kind", pa.string())]
)  # fmt: skip

pytestmark = alike("a lookup")
NAMES = {each: f"Airline {each}" for each in CARRIERS[::2]}


def drawn(version: int) -> list[dict]:
    """Each version has other times and fees of each carrier, none of UA, and leaves some out. A
    flight's time is a whole minute, as are these: boundaries are met.
    """
    draw, rows = (
        Random(version),
        [{"carrier": None, "since": None, "until": None, "fee": 1, "kind": "none"}],
    )
    for carrier in CARRIERS:
        cuts = sorted(
            {
                NEW_YEAR + timedelta(minutes=draw.randrange(7 * 1440))
                for _ in range(draw.randrange(4))
            }
        )
        for since, until in pairwise([None, *cuts, None]):
            if draw.random() < 0.8:
                rows.append(
                    {
                        "carrier": carrier,
                        "since": since,
                        "until": until,
                        "fee": draw.randrange(100),
                        "kind": draw.choice("ab"),
                    }
                )
        if cuts:  # never valid
            rows.append(
                {"carrier": carrier, "since": cuts[0], "until": cuts[0], "fee": 9, "kind": "never"}
            )
    draw.shuffle(rows)
    return rows


def put(path: str, version: int) -> None:
    deltalake.write_deltalake(path, pa.Table.from_pylist(drawn(version), COLUMNS), mode="overwrite")


def fees_of(path: str) -> Dimension:
    return Dimension(
        name="fees",
        table=path,
        key=("carrier",),
        valid=("since", "until"),
        fields=(Field(name="fee", type="bigint"), Field(name="sort", type="string", path="kind")),
    )


def as_sql(rows: list[dict]) -> str:
    def said(value: object) -> str:
        return (
            "NULL"
            if value is None
            else repr(str(value))
            if not isinstance(value, int)
            else str(value)
        )

    values = ", ".join(
        "(" + ", ".join(said(row[name]) for name in COLUMNS.names) + ")" for row in rows
    )
    return f"""SELECT carrier, since::TIMESTAMPTZ AS since, until::TIMESTAMPTZ AS until, fee::BIGINT AS fee, kind
               FROM (VALUES {values}) AS v({", ".join(COLUMNS.names)})"""


GROUPS = f"""SELECT {BEGIN} AS window_start, window_start + INTERVAL 1 HOUR AS window_end, carrier, sort,
                    count(*) AS flights, sum(fee)::BIGINT AS fees, name
             FROM joined LEFT JOIN names USING (carrier)
             GROUP BY window_start, carrier, sort, name"""


def by_pins(spec: Pipeline, versions: list[int]) -> Operator:
    """Each record joined by the version that its batch, a delivery, has."""
    tables = " UNION ALL ".join(
        f"SELECT {n} AS version, * FROM ({as_sql(drawn(n))})" for n in {*versions}
    )
    sql = f"""WITH fees AS ({tables}), names AS ({names_sql()}), joined AS (
                SELECT r.*, fee, kind AS sort FROM ({ON_TIME}) r LEFT JOIN fees f
                ON f.version = {versions}[delivery] AND f.carrier = r.carrier
                AND (since IS NULL OR since <= event_time) AND (until IS NULL OR event_time < until)) {GROUPS}"""
    return Operator(spec, sql, until=f"{BEGIN} + INTERVAL 1 HOUR")


def as_of(spec: Pipeline, version: int) -> Operator:
    """Each record joined by one version: DuckDB's ASOF JOIN, whose rows have no end."""
    sql = f"""WITH fees AS (SELECT carrier, coalesce(since, '1900-01-01'::TIMESTAMPTZ) AS since, until, fee, kind
                            FROM ({as_sql(drawn(version))}) WHERE until IS NULL OR since IS NULL OR since < until),
              names AS ({names_sql()}), joined AS (
                SELECT r.*, CASE WHEN ends THEN NULL ELSE fee END AS fee, CASE WHEN ends THEN NULL ELSE kind END AS sort
                FROM (SELECT r.*, f.fee, f.kind, coalesce(f.until <= r.event_time, false) AS ends
                      FROM ({ON_TIME}) r ASOF LEFT JOIN fees f ON r.carrier = f.carrier AND r.event_time >= f.since) r)
              {GROUPS} HAVING window_end <= $watermark"""
    return Operator(spec, sql, until=f"{BEGIN} + INTERVAL 1 HOUR")


def names_sql() -> str:
    values = ", ".join(f"({key!r}, {name!r})" for key, name in NAMES.items())
    return f"SELECT * FROM (VALUES {values}) AS v(carrier, name)"


def hold(made, *versions: int) -> truth.Truth:
    folder = made.paths.checkpoint / "inputs"
    notes = {int(file.name): json.loads(file.read_text())["inputs"] for file in folder.iterdir()}
    ends = [{}, *truth.ends(made)]
    read = [batch for batch, (was, now) in enumerate(pairwise(ends)) if was != now]
    pinned = [
        notes[max(each for each in notes if each <= batch)]["fees"]["version"] for batch in read
    ]
    assert pinned == [*versions]
    return truth.hold(made, by_pins(made.spec, pinned))


def spec_with(folder) -> Pipeline:
    put(str(folder / "fees"), 0)
    (folder / "names.csv").write_text(
        "carrier,name\n" + "".join(f"{key},{name}\n" for key, name in NAMES.items())
    )
    sums = {"flights": "count(*)", "fees": "sum(fee)"}
    names = Dimension(
        table=str(folder / "names.csv"),
        key=("carrier",),
        fields=(Field(name="name", type="string"),),
    )
    return Pipeline(
        name="charged",
        about="Fees",
        topic=FLIGHTS,
        watermark_delay="2 hours",
        output_mode="update",  # a batch writes the groups of its own records
        steps=(
            Lookup(dimension=fees_of(str(folder / "fees")), on={"carrier": "carrier"}),
            Lookup(dimension=names, on={"carrier": "carrier"}),
            Aggregate(
                window=HOUR, keys=("carrier", "sort", "name"), measures=sums, counts="flights"
            ),
        ),
    )


def newest_always(checkpoint, _, spec, settings) -> pins.Pinned:
    """What a run without a note would read."""
    return pins.pin(checkpoint, lambda: -1, spec, settings)


def test_each_batch_has_the_rows_of_its_version_and_after_a_repair_those_of_the_last(
    scene, monkeypatch, tmp_path
):
    spec, table = spec_with(tmp_path), str(tmp_path / "fees")
    made = scene(spec, "first", events=3000, deliveries=3)
    put(table, 1)
    made.deliver()
    with monkeypatch.context() as at:
        at.setattr(failpoint, "at", (images := Images(made, tmp_path / "images")).at)
        made.run("second")
    hold(made, 0, 1)
    put(table, 2)
    image = images.taken["table.committed", 2]
    naive = over(made, shutil.copytree(image, tmp_path / "naive"))
    killed = {("planned", 2): 2, ("table.committed", 2): 1}  # which version each has then
    runs = [(over(made, images.taken[moment]), version) for moment, version in killed.items()]
    for each, version in runs:
        each.run("resumed")
        hold(each, 0, version)
    with monkeypatch.context() as at:
        at.setattr("spark_jobs.runs.resume.opening.pin", newest_always)
        naive.run("resumed")
    made.deliver()
    for each, version in (*runs, (made, 1)):
        each.run("third")
        known = hold(each, 0, version, 2)
    naive.run("third")
    with pytest.raises(AssertionError, match="the table"):
        truth.hold(naive, by_pins(spec, [0, 1, 2]))
    with pytest.raises(AssertionError, match="the table"):
        truth.hold(naive, by_pins(spec, [0, 2, 2]))
    repairs, ends = Repairs(made), (NEW_YEAR, known.watermark - HOUR.size * 3)
    staged = repairs.stage(plan := repairs.plan())
    assert (staged.problem, staged.change.unaccounted, staged.change.unexplained) == (None, 0, 0)
    repairs.swap(plan)
    found = (row for row in made.table() if row["window_end"] <= ends[1])
    wanted = truth.canonical(as_of(spec, 2), made.ledger, ends[1])
    assert_same(oracle.comparable(found), oracle.comparable(wanted), "the repaired table")
    planned = repairs.plan("verify", *ends)
    put(table, 3)
    assert repairs.stage(planned).change.differs == 0


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
