"""`sluice new` over samples: what it declares, and that the spec runs as it is written."""

import gzip
import importlib
import json
import random
import sys
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from spark_jobs.cli import app
from spark_jobs.draft.disorder import disorder
from spark_jobs.draft.drafted import draft
from spark_jobs.draft.folder import text
from spark_jobs.draft.leaf import Kind, Leaf, kind, snake
from spark_jobs.draft.sample import Sampled, of_file
from spark_jobs.errors import SampleUnusable, SettingInvalid
from spark_jobs.settings import roots
from spark_jobs.spec import Deduplicate, Latest, Pipeline
from tests.harness.refused import fails

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CLOCK = NOON.timestamp() * 1000


def sampled(values, keys=None, ahead_ms=20):
    """Records that arrived a second apart."""
    return [
        Sampled(
            0,
            n,
            int(CLOCK) + n * 1000 + ahead_ms,
            json.dumps(keys[n]).encode() if keys else None,
            value if isinstance(value, bytes | None) else json.dumps(value).encode(),
        )
        for n, value in enumerate(values)
    ]


def order(n, **more):
    at = NOON + timedelta(seconds=n)
    return {"orderId": f"o-{n}", "placedAt": at.isoformat(), "customer": {"id": n % 7}} | more


def written(made):
    """The spec, as its text declares it."""
    module = {}
    exec(compile(text(made, 1), "spec.py", "exec"), module)
    return module["SPEC"]


@pytest.mark.parametrize(
    ("values", "name", "found"),
    [
        ([True, False], "paid", Kind("boolean")),
        ([1, 2], "items", Kind("bigint")),
        ([1, 2.5], "weight", Kind("double")),
        (["a", "b"], "word", Kind("string")),
        (["2026-03-01T12:00:00Z", "2026-03-01T12:00:00.5+01:00"], "t", Kind("timestamp")),
        (["2026-03-01"], "day", Kind("date")),
        ([["a"], []], "tags", Kind("array<string>")),
        ([[{"sku": 1}]], "items", Kind("string", "json")),
        ([{}], "empty", Kind("string", "json")),
    ],
    ids=lambda each: str(each)[:40],
)
def test_a_type_follows_from_the_values(values, name, found):
    assert kind(Leaf((name,), values), CLOCK) == found


@pytest.mark.parametrize(("unit", "factor"), [("s", 1e-3), ("ms", 1), ("us", 1e3), ("ns", 1e6)])
def test_the_unit_of_an_epoch_is_the_one_by_which_records_are_of_these_days(unit, factor):
    values = [int((CLOCK - n) * factor) for n in range(9)]
    made = kind(Leaf(("createdAt",), values), CLOCK)
    assert (made.type, made.format) == ("timestamp", unit)


def test_a_number_that_only_might_be_a_time_stays_a_number_and_is_said():
    made = kind(Leaf(("serial",), [int(CLOCK / 1000) - 3 * 365 * 86_400]), CLOCK)
    assert (made.type, bool(made.note)) == ("bigint", True)


@pytest.mark.parametrize(
    ("name", "values", "found", "format_"),
    [
        ("t", [CLOCK / 1000 + n + 0.123 for n in range(9)], "timestamp", "s"),
        ("t", [str(int(CLOCK) + n) for n in range(9)], "timestamp", "ms"),
        ("createdAt", ["1764200000.5"], "timestamp", "s"),
        # Phone numbers, or orders of a year: some are near, and not all.
        ("number", [1_730_000_000 + 9_000_000 * n for n in range(9)], "bigint", None),
        ("phone", [str(1_730_000_000 + 9_000_000 * n) for n in range(9)], "string", None),
        ("weight", [1.5], "double", None),
        ("consumer", [5], "bigint", None),
    ],
)  # fmt: skip
def test_times_are_also_fractions_and_texts_and_not_all_that_has_their_size(
    name, values, found, format_
):
    made = kind(Leaf((name,), values), CLOCK)
    assert (made.type, made.format) == (found, format_)
    assert bool(made.note) is (found == "timestamp" or name == "number")


@pytest.mark.parametrize(
    ("name", "value"),
    [("stamp", "20251126093000"), ("stamp", 20251126093000), ("fare", 250), ("unitPrice", 2.5)],
)
def test_what_only_a_person_knows_is_said(name, value):
    assert kind(Leaf((name,), [value] * 9), CLOCK).note


def test_a_topic_of_epochs_in_text_has_them_as_its_event_time():
    records = [{"id": f"i-{n}", "at": str(int(CLOCK) + n * 1000)} for n in range(60)]
    made = draft("x", "x", sampled(records))
    assert (made.spec.topic.event_time, made.tried.malformed.total()) == ("at", 0)
    assert made.tried.times_ms[:2] == [CLOCK, CLOCK + 1000]


@pytest.mark.parametrize("given", ["eventId", "@type", "2nd", "user-agent", "Straße", "ÄÖ"])
def test_a_key_of_any_letters_becomes_a_columns_name(given):
    spec = draft("x", "x", sampled([order(n, **{given: "v"}) for n in range(60)])).spec
    assert snake(given) in {field.name for field in spec.topic.fields}


def test_an_order_topic_is_declared_with_its_key_and_its_time_and_decodes_the_sample():
    records = [order(n) for n in range(100)]
    made = draft("orders", "shop.orders", sampled([*records, records[3], records[4]]))
    spec = written(made)
    assert spec == made.spec
    assert spec.topic.event_time == "placed_at"
    assert {f.name: f.paths[0] for f in spec.topic.fields} == {
        "order_id": ("orderId",),
        "placed_at": ("placedAt",),
        "customer_id": ("customer", "id"),
    }
    assert spec.steps == (Deduplicate(keys=("order_id",)),)
    assert (len(made.tried.rows), made.tried.malformed.total()) == (102, 0)


def test_a_field_that_some_records_lack_is_not_required_and_bad_records_are_shown():
    records = [order(n, **({"coupon": "x"} if n % 2 else {})) for n in range(100)]
    made = draft(
        "orders", "orders", sampled([*records, b'{"orderId": 7', b"", order(1, placedAt="?")])
    )
    required = {field.name: field.required for field in made.spec.topic.fields}
    assert (required["coupon"], required["order_id"]) == (False, True)
    assert made.tried.malformed.total() >= 2


def test_a_few_bad_records_among_many_change_no_declaration():
    bad = [
        order(1, orderId=None),
        order(602, customer={"id": "seven"}),
        order(603, placedAt="yesterday"),
        order(604, placedAt=None),
    ]
    records = [order(n) for n in range(500)]
    made = draft("orders", "orders", sampled([*records, *bad, records[9]]))
    good = draft("orders", "orders", sampled([*records, records[9]]))
    assert written(made) == good.spec
    assert made.tried.malformed.total() == len(bad)
    assert {"placed_at", "customer_id", "order_id"} <= made.notes.keys()


@pytest.mark.parametrize(
    "record",
    [
        lambda n: {"user_id": f"u{n % 50}", "page": n},
        lambda n: {"amount": n * 3, "page": n},
        lambda n: {"paid": f"{n}.50", "humid": n},
        lambda n: {"user_id": "u" if n in {7, 9} else f"u{n}", "page": n},
    ],
    ids=["few users", "amounts", "words that end in id", "one user twice"],
)
def test_what_only_looks_like_an_id_drops_no_row(record):
    records = [record(n) | {"at": (NOON + timedelta(seconds=n)).isoformat()} for n in range(300)]
    assert draft("x", "x", sampled(records)).spec.steps == (Deduplicate(keys=("*",)),)


def test_of_two_ids_the_one_with_more_values_is_the_key():
    records = [order(n, customer_id=n % 200) for n in range(300)]
    assert draft("x", "x", sampled(records)).spec.steps == (Deduplicate(keys=("order_id",)),)


@pytest.mark.parametrize("ship", [None, {}])
def test_an_object_that_is_sometimes_null_or_empty_is_the_fields_within_it(ship):
    records = [order(n, ship=ship if n % 3 else {"city": "Köln"}) for n in range(90)]
    made = draft("x", "x", sampled(records))
    assert {f.name: f.required for f in made.spec.topic.fields}["city"] is False
    assert made.tried.malformed.total() == 0


def test_an_object_that_is_sometimes_a_text_is_one_column():
    records = [order(n, ship="none" if n % 3 else {"city": "Köln"}) for n in range(90)]
    fields = {f.name: f.type for f in draft("x", "x", sampled(records)).spec.topic.fields}
    assert fields["ship"] == "string"
    assert "city" not in fields


def test_whole_numbers_beyond_64_bits_are_no_bigint():
    made = draft("x", "x", sampled([order(n, serial=2**70 + n) for n in range(60)]))
    assert {f.name: f.type for f in made.spec.topic.fields}["serial"] == "string"
    assert made.tried.malformed.total() == 0


def test_deletes_that_the_sample_lacks_are_no_malformed_records():
    """Of a delete Debezium has the key alone, by Postgres' default."""
    made = draft("orders", "orders", sampled(changes(60), [{"id": n % 9} for n in range(60)]))
    required = {f.name for f in made.spec.topic.fields if f.required}
    assert required == {"id", "lsn", "changed_at"}


def test_one_foreign_record_in_a_topic_of_debezium_changes_no_declaration():
    keys = [{"id": n % 9} for n in range(201)]
    made = draft("orders", "orders", sampled([*changes(200), {"ts_ms": 5}], keys))
    assert made.spec.topic.envelope == "debezium"


def changes(count):
    """Updates without a delete."""
    return [
        {"op": "u", "before": None, "after": {"id": n % 9, "status": "paid"}, "ts_ms": int(CLOCK) + n,
         "source": {"lsn": 100 + n}}
        for n in range(count)
    ]  # fmt: skip


def test_a_sample_without_a_field_is_refused():
    with fails(SampleUnusable, "no_fields", sampled=60):
        draft("x", "x", sampled([{}] * 60))


def test_a_key_in_the_wrong_case_is_no_field_more():
    records = [order(n) for n in range(300)]
    wrong = {"ORDER_ID" if key == "orderId" else key: value for key, value in order(7).items()}
    made = draft("orders", "orders", sampled([*records, wrong]))
    assert "order_id_2" not in {field.name for field in made.spec.topic.fields}
    assert made.tried.malformed.total() == 1


def test_a_time_from_far_ahead_makes_no_other_record_late():
    records = [order(n) for n in range(200)] + [order(10**6)]
    made = draft("orders", "orders", sampled(records))
    assert made.tried.premature == 1
    assert made.disorder.delay == "10 minutes"


def test_records_without_a_time_have_kafkas():
    spec = written(draft("x", "x", sampled([{"id": n} for n in range(60)])))
    clock = {field.name: field.part for field in spec.topic.fields}[spec.topic.event_time]
    assert clock == "timestamp"


def test_a_topic_of_debezium_becomes_the_present_rows():
    rows = [{"id": n % 9, "status": "paid", "amount": 3} for n in range(60)]
    values = [
        {"op": "c" if n < 9 else "u", "before": None, "after": row, "ts_ms": int(CLOCK) + n,
         "source": {"lsn": 100 + n, "table": "orders"}}
        for n, row in enumerate(rows)
    ]  # fmt: skip
    values += [values[0] | {"op": "d", "before": rows[0], "after": None}, None]
    keys = [{"id": n % 9} for n in range(62)]
    made = draft("orders", "db.public.orders", sampled(values, keys))
    spec = written(made)
    [step] = spec.steps
    assert isinstance(step, Latest)
    assert (step.keys, step.order_by) == (("id",), ("lsn", "changed_at"))
    assert (spec.topic.envelope, spec.topic.tombstones) == ("debezium", "dropped")
    assert made.tried.malformed.total() == 0
    assert made.tried.dropped == 1


def connect(fields, payload):
    """As Connect's JSON converter writes it."""
    return {"schema": {"type": "struct", "optional": False, "fields": fields}, "payload": payload}


ROW = [
    {"type": "int32", "field": "number"},
    {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "field": "amount",
     "parameters": {"scale": "3", "connect.decimal.precision": "10"}},
    {"type": "int64", "name": "io.debezium.time.NanoTimestamp", "field": "seen"},
    {"type": "int32", "name": "io.debezium.time.Date", "field": "born"},
    {"type": "int64", "name": "com.example.Odd", "field": "odd"},
]  # fmt: skip
SAID = {"amount": ("decimal(10,3)", "base64"), "seen": ("timestamp", "ns"), "born": ("date", "days"), "odd": ("bigint", None)}  # fmt: skip


def row(n):
    return {
        "number": n % 9,
        "amount": "AYag",
        "seen": int((CLOCK + n) * 1e6),
        "born": 9000,
        "odd": 3,
    }


@pytest.mark.parametrize("envelope", [None, "debezium"])
def test_a_schema_of_connect_says_types_that_values_do_not_show(envelope):
    def record(n):
        if envelope is None:
            return connect(ROW, row(n))
        parts = [{"type": "struct", "field": each, "fields": ROW} for each in ("before", "after")]
        changed = {"op": "u", "before": None, "after": row(n), "ts_ms": int(CLOCK) + n}
        return connect(parts, changed | {"source": {"lsn": n}})

    foreign = {"op": 3}
    made = draft("x", "x", sampled([*(record(n) for n in range(200)), foreign]))
    topic = written(made).topic
    found = {field.name: (field.type, field.format) for field in topic.fields}
    assert topic.envelope == envelope
    assert found | SAID == found
    assert found["number"] == ("int", None)
    assert "schema_type" not in found
    assert made.tried.malformed.total() <= 1, "the foreign one"


@pytest.mark.parametrize(
    "parameters", [None, {}, {"scale": "x"}, {"scale": "-2"}, {"scale": "2", "connect.decimal.precision": "60"}]
)  # fmt: skip
def test_a_decimal_without_a_usable_scale_is_drafted_as_its_bytes(parameters):
    part = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "field": "amount", "parameters": parameters}  # fmt: skip
    values = [connect([part], {"amount": "AYag" if n % 2 else "AYah", "n": n}) for n in range(60)]
    made = draft("x", "x", sampled(values))
    [field] = [each for each in written(made).topic.fields if each.name == "amount"]
    assert (field.type, field.format) == ("binary", None)
    assert not made.tried.malformed


@pytest.mark.parametrize(
    ("parameters", "kind"), [({"scale": "2"}, "decimal(38,2)"), (None, "decimal(12,2)")], ids=["scale", "none"]
)  # fmt: skip
def test_a_decimal_that_connect_writes_as_a_number_is_drafted_as_one(parameters, kind):
    """Its converter's decimal.format NUMERIC leaves the schema as it is."""
    part = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "field": "amount", "parameters": parameters}  # fmt: skip
    values = [connect([part], {"amount": n + 0.25, "n": n}) for n in range(60)]
    made = draft("x", "x", sampled(values))
    [field] = [each for each in written(made).topic.fields if each.name == "amount"]
    assert (field.type, field.format) == (kind, None)
    assert not made.tried.malformed


def test_an_event_of_cloudevents_is_told_by_its_own_id():
    values = [
        {"specversion": "1.0", "id": f"e-{n}", "source": "/shop", "type": "paid", "data": {"orderId": n},
         "time": (NOON + timedelta(seconds=n)).isoformat()}
        for n in range(60)
    ]  # fmt: skip
    spec = written(draft("events", "events", sampled(values)))
    assert spec.topic.envelope == "cloudevents"
    assert (spec.topic.event_time, spec.steps) == ("time", (Deduplicate(keys=("source", "id")),))


def test_an_update_of_an_order_is_no_duplicate_of_it():
    records = [order(n % 30, placedAt=(NOON + timedelta(seconds=n)).isoformat()) for n in range(90)]
    [step] = draft("orders", "orders", sampled(records)).spec.steps
    assert step == Deduplicate(keys=("*",))


def test_the_delay_leaves_one_record_of_a_thousand_late_at_most():
    chance = random.Random(5)
    times = [CLOCK + n * 1000 - chance.choice([0] * 500 + [1_500_000]) for n in range(5000)]
    found = disorder(times)
    assert found.delay == "30 minutes"
    assert found.late(timedelta(minutes=30)) <= 5 < found.late(timedelta(minutes=10))


def test_an_object_whose_keys_are_values_is_one_column():
    records = [order(n, prices={f"sku-{n}": 1}) for n in range(60)]
    spec = draft("orders", "orders", sampled(records)).spec
    prices = next(field for field in spec.topic.fields if field.name == "prices")
    assert (prices.type, prices.format) == ("string", "json")


@pytest.mark.parametrize("key", ["", '"', "\\", "\n"])
def test_a_key_that_no_path_can_name_is_left_out(key):
    made = draft("orders", "orders", sampled([order(n) | {key: 1} for n in range(60)]))
    assert [each.name for each in written(made).topic.fields] == [
        "order_id",
        "placed_at",
        "customer_id",
    ]


@pytest.mark.parametrize(
    ("content", "what", "tool"),
    [
        (gzip.compress(b'{"id": 1}\n' * 60, mtime=0), "compressed", "zcat"),
        (
            json.dumps([order(n) for n in range(3)], indent=1).encode(),
            "an array of JSON",
            "jq -c '.[]'",
        ),
    ],
)
def test_a_file_that_is_no_lines_is_refused_with_what_makes_lines_of_it(
    tmp_path, content, what, tool
):
    (file := tmp_path / "my orders").write_bytes(content)
    with fails(SampleUnusable, "no_lines", path=file, what=what, command=f"{tool} '{file}'"):
        of_file(file, 100)


def test_a_files_byte_order_mark_is_no_part_of_its_first_record(tmp_path):
    (file := tmp_path / "orders").write_text('{"id": 1}\n{"id": 2}\n', encoding="utf-8-sig")
    assert [json.loads(each.value) for each in of_file(file, 9)] == [{"id": 1}, {"id": 2}]


def test_a_draft_has_the_root_that_is_given_or_the_only_one_that_is_declared(tmp_path, monkeypatch):
    monkeypatch.setattr(roots, "DEFAULT_ROOT", None)
    monkeypatch.delenv("SLUICE_ROOT", raising=False)
    (file := tmp_path / "x.jsonl").write_text(json.dumps(order(1)))
    words = ["new", "--file", str(file), "--into", str(tmp_path / "drafts")]

    def root_of(name, *more):
        done = CliRunner().invoke(app, [*words, name, *more])
        assert done.exit_code == 0, done.output
        module = {}
        exec((tmp_path / "drafts" / name / "spec.py").read_text(), module)
        return module["SPEC"].root

    assert root_of("none") == ""
    monkeypatch.setenv("SLUICE_ROOT__EU", str(tmp_path / "eu"))
    assert root_of("only") == "eu"
    monkeypatch.setenv("SLUICE_ROOT__US", str(tmp_path / "us"))
    assert (root_of("two"), root_of("given", "--root", "us")) == ("", "us")
    done = CliRunner().invoke(app, [*words, "lost", "--root", "nowhere"])
    assert (done.exit_code, (tmp_path / "drafts" / "lost").exists()) == (
        SettingInvalid.exit_status,
        False,
    )


@pytest.mark.parametrize("value", [b"abc", b"[1]"])
def test_what_is_no_json_is_refused_in_words(value):
    with fails(SampleUnusable, "no_json", found=0, sampled=3):
        draft("x", "x", sampled([value] * 3))


def test_the_command_writes_a_package_that_validates_and_overwrites_nothing(tmp_path, monkeypatch):
    lines = "\n".join(json.dumps(order(n)) for n in range(80))
    (tmp_path / "orders.jsonl").write_text(lines)
    monkeypatch.chdir(tmp_path)
    for name in ("SLUICE_PIPELINES", "SLUICE_ROOT", "SLUICE_KAFKA"):
        monkeypatch.delenv(name, raising=False)
    words = ["new", "orders", "--file", "orders.jsonl"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "80 of 80 records are good" in done.stdout
    monkeypatch.setenv("SLUICE_PIPELINES", "pipelines")
    monkeypatch.setattr(sys, "path", [*sys.path])  # a run finds it in the working folder
    importlib.invalidate_caches()
    assert CliRunner().invoke(app, ["validate", "orders"]).exit_code == 0
    assert isinstance(importlib.import_module("pipelines.orders.spec").SPEC, Pipeline)
    for name in [name for name in sys.modules if name.partition(".")[0] == "pipelines"]:
        monkeypatch.delitem(sys.modules, name)
    before = (tmp_path / "pipelines/orders/spec.py").read_text()
    again = CliRunner().invoke(app, words)
    assert again.exit_code == SampleUnusable.exit_status
    assert (tmp_path / "pipelines/orders/spec.py").read_text() == before


def test_a_topic_of_a_named_cluster_is_declared_with_it():
    made = draft("orders", "shop.orders", sampled([order(n) for n in range(60)]), cluster="eu")
    assert written(made).topic.cluster == made.spec.topic.cluster == "eu"


def test_a_mark_of_byte_order_is_read_by_a_draft_as_by_the_decoder():
    rows = [f"{n},2026-03-01T10:00:{n:02}Z,a{n}" for n in range(60)]
    made = draft(
        "x", "x", [Sampled(0, n, 0, None, ("\ufeff" + row).encode()) for n, row in enumerate(rows)]
    )
    assert (len(made.tried.good), made.tried.malformed) == (60, {})
    values = [json.dumps({"id": n, "at": NOON.isoformat()}).encode("utf-8-sig") for n in range(60)]
    with pytest.raises(SampleUnusable):
        draft("x", "x", [Sampled(0, n, 0, None, value) for n, value in enumerate(values)])
