"""Every type of a field where its values are compared, kept, shown and typed, without Spark."""

import base64
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from upath import UPath

from spark_jobs.decode.seen import seen
from spark_jobs.repair.exchange.staging import same, within, without
from spark_jobs.spec import Field, GroupState, State, Topic
from spark_jobs.spec.analysis.lateness import unheld
from spark_jobs.state.keys import parse
from spark_jobs.state.text import format_value
from spark_jobs.table.delta.table import Delta
from spark_jobs.values.conversions import arrow_array, arrow_type
from tests.unit.decoding import Decoding
from tests.unit.specs import pipeline

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
LOCAL = AT.replace(tzinfo=None)
# What the record has, what a row has, and how `sluice state` shows it.
VALUES: dict[str, tuple[Any, Any, str]] = {
    "string": ("ü\n", "ü\n", "ü\\n"),
    "smallint": (-5, -5, "-5"),
    "int": (7, 7, "7"),
    "bigint": (2**62, 2**62, "4611686018427387904"),
    "float": (1.5, 1.5, "1.5"),
    "double": (0.1, 0.1, "0.1"),
    "boolean": (True, True, "true"),
    "binary": (base64.b64encode(b"\0\xff").decode(), b"\0\xff", "0x00ff"),
    "timestamp": (AT.isoformat(), AT, "2026-01-02 03:04:05.678901"),
    "timestamp_ntz": (LOCAL.isoformat(), LOCAL, "2026-01-02 03:04:05.678901"),
    "date": ("2026-01-02", date(2026, 1, 2), "2026-01-02"),
    "decimal(12,2)": (12.5, Decimal("12.50"), "12.50"),
    "array<decimal(4,1)>": ([1.5, None], [Decimal("1.5"), None], "[1.5, null]"),
    "array<timestamp>": ([AT.isoformat()], [AT], "[2026-01-02 03:04:05.678901]"),
    "struct<a:int,b:binary>": ({"a": 1, "b": "AP8="}, {"a": 1, "b": b"\0\xff"}, "{a 1, b 0x00ff}"),
    "map<string,smallint>": ({"k": 1}, [("k", 1)], "[[k, 1]]"),
    "map<string,array<date>>": ({"k": ["2026-01-02"]}, [("k", [date(2026, 1, 2)])], "[[k, [2026-01-02]]]"),
}  # fmt: skip
KINDS = pytest.mark.parametrize("kind", VALUES)


def fields(kind: str) -> tuple[Field, ...]:
    return (Field(name="at", type="timestamp"), Field(name="v", type=kind, required=False))


@KINDS
def test_a_value_is_decoded_shown_on_a_page_and_in_the_look_at_state(kind):
    given, row, text = VALUES[kind]
    value = json.dumps({"at": AT.isoformat(), "v": given}).encode()
    topic = Topic(name="t", event_time="at", fields=fields(kind))
    assert Decoding(topic).row(value) == ((AT, row), None)
    assert format_value(row) == text
    [line] = [each for each in seen(topic, UPath("root"), value, None)[0] if each.name == "v"]
    assert line.declared == kind


@KINDS
def test_rows_of_a_table_are_compared_and_taken_apart(kind, tmp_path):
    row = VALUES[kind][1]
    rows = pa.table({"n": [1, 2, 3], "v": arrow_array([row, None, row], kind)})
    path = str(tmp_path / "t")
    deltalake.write_deltalake(path, rows.slice(0, 2))
    deltalake.write_deltalake(path, rows.slice(2), mode="append")
    table = Delta(UPath(path))
    columns = table.arrow()
    read = within(table, "n > 0", columns)
    assert same(read, rows.cast(columns))
    assert without(read, within(table, "n = 2", columns)).num_rows == 2
    assert not same(read, within(table, "n < 3", columns))
    assert arrow_type(kind) is not None


@KINDS
def test_a_person_types_a_key_of_any_type_without_parts(kind):
    _, row, text = VALUES[kind]
    if "<" in kind or kind == "string":
        return
    typed = row.hex() if kind == "binary" else text
    assert parse("v", typed, kind) == row


@pytest.mark.parametrize(
    ("form", "kind", "at", "held"),
    [
        ("pandas", "timestamp_ntz", datetime(2300, 1, 1), False),  # noqa: DTZ001 - it has no zone
        ("apply", "timestamp_ntz", datetime(1, 1, 1), False),  # noqa: DTZ001 - as above
        ("pandas", "timestamp_ntz", datetime(1850, 1, 1), True),  # noqa: DTZ001 - as above
        ("pandas", "timestamp", datetime(2300, 1, 1, tzinfo=UTC), False),
        ("buckets", "timestamp_ntz", datetime(2300, 1, 1), True),  # noqa: DTZ001 - as above
    ],
)
def test_a_time_that_a_group_states_form_cannot_hold_is_known_with_and_without_a_zone(
    form, kind, at, held
):
    more: dict[str, Any] = {"form": form, "time_mode": "none"}
    more |= {"state": (Field(name="n", type="bigint"),)} if form in ("apply", "buckets") else {}
    more |= {"buckets": 2} if form == "buckets" else {}
    step = GroupState(processor="P", keys=("v",), output=(Field(name="n", type="bigint"),), **more)
    spec = pipeline(
        topic=Topic(name="t", event_time="at", fields=fields(kind)),
        steps=(step,),
        watermark_delay=None,
        state=State(budget_rows=9),
    )
    reasons = [limit.reason(at) for limit in unheld(spec) if limit.field == "v"]
    assert any(reasons) is not held
