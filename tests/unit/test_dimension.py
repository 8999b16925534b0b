"""A dimension and its lookups as they are declared, and what is found of its table without Spark."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import deltalake
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from pyarrow import parquet

from spark_jobs.contracts.contract import contract
from spark_jobs.errors import DimensionAmbiguous, DimensionUnfit, SpecInvalid
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.side.dimension import DimensionSide
from spark_jobs.side.refusals import refuse_misdeclared
from spark_jobs.spec import Aggregate, Dimension, Field, Lookup, Transform, Tumbling
from spark_jobs.spec.analysis.looked_up import kept
from spark_jobs.storage.pin import Pin
from tests.harness.refused import fails, has
from tests.unit.specs import aggregate, deduplicate, group_state, pipeline

REGION = (Field(name="region", type="string"),)
DAY, FIRST = timedelta(days=1), datetime(2026, 1, 1, tzinfo=UTC)
TIMES = pa.timestamp("us", "UTC")
SCHEMA = pa.schema({"id": pa.string(), "since": TIMES, "until": TIMES, "region": pa.string()})


class Here(NamedTuple):
    """All that a dimension asks of the settings."""

    root: str


def shops(**changes: Any) -> Dimension:
    usual = {"table": "shops", "key": ("id",), "valid": ("since", "until"), "fields": REGION}
    return Dimension(**usual | changes)


def lookup(**changes: Any) -> Lookup:
    return Lookup(**{"dimension": shops(valid=None), "on": {"id": "shop"}} | changes)


def of_steps(*steps: Any) -> Any:
    return pipeline(steps=steps)


KEPT = shops(valid=None, corrections="keep")
NUMBER = (Field(name="id", type="bigint"),)
MISUSES = {
    "an object store's path": (lambda: shops(table="s3://else/shops"), "table"),
    "a relative path": (lambda: shops(table="a/shops", name="shops"), "table"),
    "no name": (lambda: shops(table="/data/Shops"), "name"),
    "no key": (lambda: shops(key=()), "key"),
    "a key twice": (lambda: shops(key=("id", "id")), "key"),
    "a key in capitals": (lambda: shops(key=("ShopId",)), "key"),
    "a key of doubles": (lambda: shops(key=(Field(name="id", type="double"),)), "key"),
    "a time of the key, under another name": (
        lambda: shops(key=(Field(name="id", type="string", path="since"),)), "valid",
    ),
    "a time of the key": (lambda: shops(valid=("id", "until")), "valid"),
    "one time": (lambda: shops(valid=("since", "since")), "valid"),
    "a field of text that is a time": (
        lambda: shops(fields=(Field(name="since", type="string"),)), "fields",
    ),
    "a field twice": (lambda: shops(fields=REGION * 2), "fields"),
    "a part of a column": (
        lambda: shops(fields=(Field(name="region", type="string", path="a.b"),)), "fields",
    ),
    "a form": (lambda: shops(fields=(Field(name="n", type="int", format="text"),)), "fields"),
    "another key": (lambda: lookup(on={"shop": "shop"}), "on"),
    "a column that is not there": (lambda: of_steps(lookup(on={"id": "shp"})), "Lookup.on"),
    "a type that differs": (
        lambda: of_steps(lookup(dimension=shops(valid=None, key=NUMBER))), "Lookup.on",
    ),
    "a name that is taken": (
        lambda: of_steps(
            lookup(dimension=shops(valid=None, fields=(Field(name="amount", type="int"),)))
        ),
        "Lookup.dimension.fields",
    ),
    "two dimensions of a name": (
        lambda: of_steps(
            lookup(),
            lookup(dimension=shops(valid=None, fields=(Field(name="zone", type="string"),))),
        ),
        "steps",
    ),
    "no column behind the aggregate": (
        lambda: of_steps(aggregate(), lookup(on={"id": "id"})), "Lookup.on",
    ),
    "no time behind the aggregate": (
        lambda: of_steps(aggregate(), lookup(dimension=shops())), "Lookup.dimension.valid",
    ),
    "rows grouped by what rows keep": (
        lambda: of_steps(lookup(dimension=KEPT), aggregate(keys=("shop", "region"))),
        "Lookup.dimension.corrections",
    ),
    "a filter of what rows keep": (
        lambda: of_steps(lookup(dimension=KEPT), Transform(where="region = 'x'")),
        "Lookup.dimension.corrections",
    ),
    "code over what rows keep": (
        lambda: of_steps(lookup(dimension=KEPT), group_state()), "Lookup.dimension.corrections",
    ),
    "a quarantine behind a filter": (
        lambda: of_steps(Transform(where="amount > 0"), lookup(missing="quarantine")),
        "Lookup.missing",
    ),
    "a quarantine of what was looked up": (
        lambda: of_steps(
            lookup(),
            lookup(
                dimension=shops(
                    name="zones", valid=None, fields=(Field(name="zone", type="string"),)
                ),
                on={"id": "region"},
                missing="quarantine",
            ),
        ),
        "Lookup.missing",
    ),
}  # fmt: skip


@pytest.mark.parametrize("made", MISUSES)
def test_what_is_declared_wrongly_is_refused_with_the_field(made):
    make, field = MISUSES[made]
    with pytest.raises(SpecInvalid) as caught:
        make()
    error = caught.value
    assert error.reason == "fields_refused"
    assert error.parameters["fields"] == field or f"field '{field}'" in str(error) or field in {
        part.split(" is ")[0] for part in str(error.parameters["problems"]).split("; ")
    }  # fmt: skip


def test_a_dimension_is_called_as_its_table():
    named = ("customers", "/data/customers", "orders/customers.csv", "/data/customers.v2.parquet")
    assert [shops(table=each).name for each in named] == ["customers"] * 4


def test_stored_state_depends_on_what_a_lookup_finds_and_not_on_where():
    def of(**changes):
        return fingerprint(of_steps(lookup(**changes), deduplicate()), "4.2.0")

    usual = of()
    assert of(dimension=shops(valid=None, table="/data/shops")) == usual
    assert of(dimension=shops()) != usual
    assert of(missing="quarantine") != usual
    other = (Field(name="region", type="string", path="area"),)
    assert of(dimension=shops(valid=None, fields=other)) == usual
    assert of(dimension=KEPT) == usual


def test_columns_that_depend_on_what_rows_keep_are_told():
    sums = {"sales": "count(*)", "first": "min(region)", "turnover": "sum(amount)"}
    behind = (lookup(dimension=KEPT), Transform(where="amount > 0"), aggregate(measures=sums))
    assert kept(of_steps(*behind)) == {"first"}
    assert kept(of_steps(lookup(dimension=KEPT), deduplicate())) == {"region"}
    assert kept(of_steps(lookup(), aggregate(measures=sums))) == frozenset()


class Table:
    """A table in Delta, and its dimension."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.path = str(folder / "a röot of 5% #1" / "shops")
        usual = {"key": (Field(name="shop", type="string", path="id"),)}
        declared = shops(table=self.path, **usual | changes)
        self.side = DimensionSide(declared, Here(str(folder)))

    def put(self, *rows: tuple[Any, ...]) -> Pin:
        listed = [dict(zip(SCHEMA.names, row, strict=True)) for row in rows]
        table = pa.Table.from_pylist(listed, SCHEMA)
        deltalake.write_deltalake(self.path, table, mode="overwrite", partition_by=["region"])
        return Pin(table_id=str(self.table.metadata().id), version=self.table.version())

    @property
    def table(self) -> deltalake.DeltaTable:
        return deltalake.DeltaTable(self.path)


def test_a_version_is_there_until_its_files_are_removed_or_the_table_is_another(tmp_path):
    of = Table(tmp_path)
    first, second = of.put(("a", None, None, "a b")), of.put(("a", None, None, "a%20b/c"))
    assert of.side.now() == second
    assert (of.side.has(first), of.side.has(second)) == (True, True)
    assert not of.side.has(second.model_copy(update={"version": 7}))
    of.table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert (of.side.has(first), of.side.has(second)) == (False, True)
    assert not of.side.has(second.model_copy(update={"table_id": "another"}))


def test_a_version_is_there_whose_files_lie_above_its_folder(tmp_path):
    """As a published table's do in an object store, which has no links."""
    of = Table(tmp_path)
    of.put(("a", None, None, "a b"), ("b", None, None, "a%20b/c"))
    log = tmp_path / "a röot of 5% #1" / "published" / "shops" / "_delta_log"
    shutil.copytree(Path(of.path) / "_delta_log", log)
    entries = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    for each in entries:
        if "add" in each:
            each["add"]["path"] = f"../../shops/{each['add']['path']}"
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, entries)))
    side = DimensionSide(shops(table=str(log.parent), valid=None), Here(str(tmp_path)))
    assert side.has(pin := side.now())
    next(Path(of.path).rglob("*.parquet")).unlink()
    assert not side.has(pin)


AT = [FIRST + DAY * n for n in range(4)]
AMBIGUOUS = {
    "two of a key": [("a", None, None), ("a", None, None)],
    "times in common": [("a", AT[0], AT[2]), ("a", AT[1], AT[3])],
    "no end": [("a", AT[0], None), ("a", AT[1], AT[2])],
    "no beginning": [("a", AT[2], AT[3]), ("a", None, None)],
}
CLEAR = [
    ("a", None, AT[1]), ("a", AT[1], AT[2]), ("a", AT[2], None), ("b", AT[0], None),
    ("a", AT[1], AT[1]), ("a", AT[2], AT[1]), (None, None, None), (None, AT[0], None),
]  # fmt: skip


@pytest.mark.parametrize("rows", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_two_rows_of_a_key_at_one_time_are_refused_with_key_and_rows(tmp_path, rows):
    of = Table(tmp_path)
    of.put(*((*row, f"r{n}") for n, row in enumerate(rows)), ("b", None, None, "else"))
    with fails(DimensionAmbiguous, "several", keys="shop=a", rows=has("region=r0", "region=r1")):
        of.side.now()


def test_rows_that_touch_are_never_valid_or_have_no_key_are_not_ambiguous(tmp_path):
    of = Table(tmp_path)
    pin = of.put(*((*row, "here") for row in CLEAR))
    assert of.side.now() == pin


Piece = tuple[int, int, int]
"""The key, and the days from which and before which a row is valid: -1 has no beginning, 9 no end."""


def _row(piece: Piece, region: str) -> tuple[Any, ...]:
    key, start, end = piece
    since, until = (None if day in (-1, 9) else FIRST + DAY * day for day in (start, end))
    return f"k{key}", since, until, region


def _at(rows: list[Piece], regions: list[str], key: int, day: int) -> list[str]:
    """What is valid of a key on a day, by looking at each row."""
    return [
        of
        for (k, start, end), of in zip(rows, regions, strict=True)
        if k == key and start <= day < end
    ]


@pytest.mark.parametrize("way", [("sales",), ("sales", "shops"), ("sales", "shops", "zones")])
def test_pipelines_that_look_up_each_others_rows_are_refused(monkeypatch, way):
    def of(name: str, table: str) -> Any:
        return pipeline(name=name, steps=(lookup(dimension=shops(table=table, valid=None)),))

    specs = {name: of(name, way[(n + 1) % len(way)]) for n, name in enumerate(way)}
    specs["outer"] = of("outer", "sales")
    monkeypatch.setattr("spark_jobs.registry.find.load", specs.__getitem__)
    for spec in specs.values():
        with fails(SpecInvalid, "sides_in_circle"):
            refuse_misdeclared(spec, Here("/nowhere"))


def test_a_required_field_may_be_null_where_a_row_may_be_missing():
    def nullable(**changes: Any) -> bool:
        found = contract(of_steps(lookup(**changes))).columns
        assert found is not None
        return found["region"].nullable

    assert (nullable(), nullable(missing="quarantine")) == (True, False)


PIECES = st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 8), st.integers(0, 9)), max_size=8)
REGIONS = st.lists(st.sampled_from("xyz"), min_size=8, max_size=8)


@given(PIECES, REGIONS)
def test_a_table_is_refused_exactly_if_some_day_has_two_rows(tmp_path_factory, pieces, regions):
    of = Table(tmp_path_factory.mktemp("table"))
    found = regions[: len(pieces)]
    of.put(*map(_row, pieces, found))
    several = any(len(_at(pieces, found, k, day)) > 1 for k in range(3) for day in range(-1, 9))
    try:
        of.side.now()
    except DimensionAmbiguous:
        assert several
    else:
        assert not several


def _unambiguous(pieces: list[Piece]) -> list[Piece]:
    kept = list[Piece]()
    for piece in pieces:
        both = [*kept, piece]
        if all(len(_at(both, [""] * len(both), k, d)) < 2 for k in range(3) for d in range(-1, 9)):
            kept = both
    return kept


@given(PIECES, REGIONS, PIECES, REGIONS)
def test_what_two_versions_have_otherwise_is_told_by_key_and_time(
    tmp_path_factory, was, regions_was, now, regions_now
):
    of = Table(tmp_path_factory.mktemp("table"))
    was, now = _unambiguous(was), _unambiguous(now)
    of_was, of_now = regions_was[: len(was)], regions_now[: len(now)]
    pins = [of.put(*map(_row, *each)) for each in ((was, of_was), (now, of_now))]
    told = [(json.loads(str(each.key))["shop"], each) for each in of.side.changed(None, *pins)]
    spans = sorted((id_, each.start or datetime.min.replace(tzinfo=UTC)) for id_, each in told)
    assert len(spans) == len(set(spans))
    for key in range(3):
        for day in range(-1, 9):
            at = datetime.min.replace(tzinfo=UTC) if day < 0 else FIRST + DAY * day
            marked = any(
                id_ == f"k{key}" and (each.start is None or each.start <= at) and (each.end is None or at < each.end)
                for id_, each in told
            )  # fmt: skip
            assert marked == (_at(was, of_was, key, day) != _at(now, of_now, key, day)), (key, day)


def test_times_that_python_has_not_are_told_as_none(tmp_path):
    of = Table(tmp_path)
    far = pa.table({"id": ["a"], "since": [None], "until": [2**62], "region": ["x"]})
    far = far.set_column(1, "since", pa.array([None], TIMES))
    far = far.set_column(2, "until", pa.array([2**62], pa.int64()).cast(TIMES))
    pins = [of.put(("a", None, AT[1], "x"))]
    deltalake.write_deltalake(of.path, far, mode="overwrite", partition_by=["region"])
    pins.append(of.side.now())
    assert [*of.side.changed(None, *pins)] == [('{"shop": "a"}', AT[1], None)]
    assert of.side.finder(pins[1])(("a",), AT[3])
    assert not of.side.finder(pins[0])(("a",), AT[1])
    assert not of.side.finder(pins[0])((None,), AT[0])


def test_a_date_that_python_has_not_differs_from_others(tmp_path):
    path = tmp_path / "far.parquet"
    last = (Field(name="last", type="date"),)
    side = DimensionSide(Dimension(table=str(path), key=("id",), fields=last), Here(str(tmp_path)))
    parquet.write_table(pa.table({"id": ["a"], "last": pa.array([2**31 - 1], pa.date32())}), path)
    assert side.finder(side.now())(("a",), FIRST)


def test_a_version_that_is_gone_may_have_been_anything(tmp_path):
    of = Table(tmp_path)
    first, second = of.put(("a", None, None, "x")), of.put(("a", None, None, "y"))
    gone = first.model_copy(update={"table_id": "another"})
    assert [*of.side.changed(None, second, second)] == []
    assert [*of.side.changed(None, gone, second)] == [(None, None, None)]


def _field(**changes: Any) -> dict[str, Any]:
    return {"fields": (Field(**{"name": "region", "type": "string"} | changes),)}


MISFITS = {
    "no such column": (_field(path="area"), "lacks_column", {"column": "area"}),
    "another type": (_field(type="int"), "other_type", {"there": "string", "declared": "int"}),
    "a key of another type": ({"key": NUMBER}, "other_type", {"column": "id"}),
    "no time": (
        _field(path="until", type="timestamp") | {"valid": ("since", "region")},
        "other_type",
        {"declared": "a time"},
    ),
    "a null": (_field(), "null", {"column": "region", "rows": 1, "key": "shop=b"}),
}


@pytest.mark.parametrize("what", MISFITS)
def test_a_table_that_is_not_as_declared_is_refused(tmp_path, what):
    changes, reason, parameters = MISFITS[what]
    of = Table(tmp_path, **changes)
    of.put(("a", None, None, "x"), ("b", None, None, None))
    with fails(DimensionUnfit, reason, **parameters):
        of.side.now()


def test_a_table_that_is_not_there_is_refused(tmp_path):
    of = Table(tmp_path)
    with fails(DimensionUnfit, "absent", place=of.path):
        of.side.now()
    with fails(DimensionUnfit, "absent", place=tmp_path / "shops.csv"):
        File(tmp_path, "csv").side.now()


class File:
    """A file, and its dimension: a key of a number, a text, an amount and a time."""

    def __init__(self, folder: Path, suffix: str) -> None:
        self.path = folder / f"shops.{suffix}"
        fields = [("region", "string"), ("rate", "decimal(4,2)"), ("opened", "timestamp")]
        declared = shops(
            table=str(self.path), key=NUMBER, valid=None,
            fields=tuple(Field(name=name, type=kind, required=False) for name, kind in fields),
        )  # fmt: skip
        self.side = DimensionSide(declared, Here(str(folder)))


WANTED = [
    {"region": "north, and", "rate": "1.50", "opened": FIRST},
    {"region": None, "rate": None, "opened": None},
]
WRITTEN = {
    "csv": '\ufeffid,region,more,rate,opened\n1,"north, and",x,1.5,2026-01-01T01:00:00+01:00\n2,,,,\n',
    "jsonl": '{"id": 1, "region": "north, and", "rate": 1.50, "opened": "2026-01-01"}\n\n{"id": 2}\n',
}


@pytest.mark.parametrize("suffix", [*WRITTEN, "parquet"])
def test_a_files_rows_are_those_of_its_content(tmp_path, suffix):
    of = File(tmp_path, suffix)
    if suffix in WRITTEN:
        of.path.write_text(WRITTEN[suffix], encoding="utf-8")
    else:
        rows = pa.Table.from_pylist([{"id": 1, **WANTED[0], "rate": None}, {"id": 2, **WANTED[1]}])
        rates = pa.array(["1.50", None]).cast(pa.decimal128(4, 2))
        parquet.write_table(rows.set_column(2, "rate", rates), of.path)
    pin = of.side.now()
    found = of.side._read(pin).to_pylist()  # noqa: SLF001 - what Spark is given
    assert [
        {name: str(row[name]) if name == "rate" and row[name] else row[name] for name in WANTED[0]}
        for row in found
    ] == WANTED
    of.path.write_bytes(of.path.read_bytes() + b"\n")
    assert not of.side.has(pin)


FLOATS = {
    "nothing": (float("nan"), float("nan"), []),
    "a sign": (0.0, -0.0, [("a", None, None)]),
    "a number": (float("nan"), 1.0, [("a", None, None)]),
}


@pytest.mark.parametrize("what", FLOATS)
@pytest.mark.parametrize("listed", [False, True])
def test_a_number_differs_if_it_is_another_value_and_nan_is_none(tmp_path, what, listed):
    was, now, told = FLOATS[what]
    path, kind = str(tmp_path / "rates"), pa.list_(pa.float64()) if listed else pa.float64()
    rate = Field(name="rate", type="array<double>" if listed else "double")
    side = DimensionSide(Dimension(table=path, key=("id",), fields=(rate,)), Here(str(tmp_path)))
    pins = list[Pin]()
    for each in (was, now):
        rates = pa.array([[each] if listed else each], kind)
        deltalake.write_deltalake(path, pa.table({"id": ["a"], "rate": rates}), mode="overwrite")
        pins.append(side.now())
    found = [
        (json.loads(str(each.key))["id"], each.start, each.end)
        for each in side.changed(None, *pins)
    ]
    assert found == told


def test_a_version_that_lacks_a_column_declared_today_may_have_been_anything(tmp_path):
    of = Table(tmp_path, **_field(name="zone"))
    first = of.put(("a", None, None, "x"))
    wider = pa.Table.from_pylist(
        [{"id": "a", "since": None, "until": None, "zone": "y"}],
        SCHEMA.set(3, pa.field("zone", pa.string())),
    )
    deltalake.write_deltalake(
        of.path, wider, mode="overwrite", schema_mode="overwrite", partition_by=["zone"]
    )
    assert [*of.side.changed(None, first, of.side.now())] == [(None, None, None)]


TORN = {
    "csv": ("id,region,rate,opened\n1,x\n", "unreadable", {}),
    "csv ": ("", "unreadable", {}),
    "csv  ": ("id,region,rate,opened\n1,x,1.255,\n", "no_value", {"line": 2, "given": "1.255"}),
    "jsonl": ('{"id": 1}\n[2]\n', "unreadable", {}),
    "jsonl ": ('{"id": 1, "region": 7, "rate": 1, "opened": 2}\n', "no_value", {"given": "7"}),
    "jsonl  ": ('{"id": 1}\n{"id"', "unreadable", {}),
    "parquet": ("PAR1", "unreadable", {}),
}


@pytest.mark.parametrize("which", TORN)
def test_a_file_with_a_wrong_line_is_refused(tmp_path, which):
    content, reason, parameters = TORN[which]
    of = File(tmp_path, which.strip())
    of.path.write_text(content)
    with fails(DimensionUnfit, reason, place=of.path, **parameters):
        of.side.now()


def test_a_lookup_behind_an_aggregate_adds_to_its_columns():
    by_hour = Aggregate(window=Tumbling(size="1 hour"), keys=("shop",), measures={"n": "count(*)"})
    spec = of_steps(by_hour, lookup())
    columns = spec.inputs.columns
    for step in spec.steps:
        columns = step.columns_after(columns)
    assert columns == ("window_start", "window_end", "shop", "n", "region")
