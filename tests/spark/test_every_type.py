"""Fields of every type through every step that may have them, checks, state as `sluice state` shows
it, late records, a repair and publication: the rows are those that were sent.
"""

import base64
import json
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from local import broker
from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.messages.job import StateQuery
from spark_jobs.runs.told.state_view import state_view
from spark_jobs.spec import (
    Aggregate,
    Check,
    Deduplicate,
    Field,
    GroupState,
    Pipeline,
    State,
    Topic,
    Transform,
    Tumbling,
)
from spark_jobs.storage.root.path_forms import spark_url
from spark_jobs.table.published import table as published_table
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_repair import Repairs

pytestmark = alike("every type")

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
TYPES: dict[str, Callable[[int], Any]] = {
    "string": lambda n: f"t{n}",
    "smallint": lambda n: n - 5,
    "int": lambda n: n * 1000,
    "bigint": lambda n: n * 10**12,
    "float": lambda n: n + 0.5,
    "double": lambda n: n / 4,
    "boolean": lambda n: n % 2 == 0,
    "binary": lambda n: base64.b64encode(bytes([n, 0, 255])).decode(),
    "timestamp": lambda n: (START + timedelta(microseconds=n)).isoformat(),
    "timestamp_ntz": lambda n: f"2026-03-01T12:00:00.{n:06}",
    "date": lambda n: f"2026-03-{n + 1:02}",
    "decimal(12,2)": lambda n: n + 0.25,
    "array<decimal(4,1)>": lambda n: [n + 0.5, None],
    "struct<a:int,B:array<timestamp>>": lambda n: {"a": n, "B": [START.isoformat()]},
    "map<string,smallint>": lambda n: {"k": n},
}
NAMES = {kind: f"f{number}" for number, kind in enumerate(TYPES)}
KEYS = tuple(NAMES[kind] for kind in TYPES if "map" not in kind)
ORDERED = tuple(NAMES[kind] for kind in TYPES if kind != "map<string,smallint>")
FIELDS = (
    Field(name="at", type="timestamp"),
    *(Field(name=name, type=kind, required=False) for kind, name in NAMES.items()),
)
ALL = tuple(Field(name=field.name, type=field.type, required=False) for field in FIELDS)
HELD = ALL[1:]
PLAIN = tuple(field for field in HELD if "<" not in field.type)


ROWS: dict[str, Callable[[Any], Any]] = {
    "binary": base64.b64decode,
    "timestamp": datetime.fromisoformat,
    "timestamp_ntz": datetime.fromisoformat,
    "date": date.fromisoformat,
    "decimal(12,2)": Decimal,
    "array<decimal(4,1)>": lambda given: [Decimal(str(given[0])), None],
    "struct<a:int,B:array<timestamp>>": lambda given: {"a": given["a"], "B": [START]},
    "map<string,smallint>": lambda given: [*given.items()],
}


def value_of(kind: str, n: int) -> Any:
    """As Python has it, and as a table gives it."""
    given: Any = TYPES[kind](n)
    return ROWS.get(kind, lambda same: same)(given)


def record(n: int, at: datetime) -> bytes:
    values = {name: TYPES[kind](n) for kind, name in NAMES.items()}
    return json.dumps({"at": at.isoformat(), **values}).encode()


def nulls(at: datetime) -> bytes:
    return json.dumps({"at": at.isoformat()}).encode()


class Typed:
    """A pipeline over records 0 to 9, each twice, and one of nulls."""

    def __init__(self, kafka: str, folder: Path, *steps: Any, **changes: Any) -> None:
        usual: dict[str, Any] = {"name": "misuses", "about": "Every type.", "steps": steps}
        usual |= {"topic": Topic(name="typed", event_time="at", fields=FIELDS)}
        usual |= {"state": State(budget_rows=1000, shuffle_partitions=1)}
        spec = Pipeline(**usual | changes)
        self.made = Scene(kafka, folder, spec, partitions=1, checked=True)
        broker.create_topic(kafka, self.made.topic, 1)
        self.made.send(*(record(n, START + timedelta(minutes=n)) for n in [*range(10)] * 2))
        self.made.send(nulls(START))

    def rows(self, names: tuple[str, ...]) -> list[str]:
        return sorted(repr([_plain(row[name]) for name in names]) for row in self.made.table())

    def shown(self) -> str:
        query = StateQuery(limit=100)
        return "\n".join(state_view(self.made.spec, self.made.settings, query))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


def wanted(kinds: dict[str, str], numbers: Iterable[int], nulls: int) -> list[str]:
    rows = [[_plain(value_of(kind, n)) for kind in kinds] for n in numbers]
    return sorted(map(repr, [*rows, *[[None] * len(kinds)] * nulls]))


def test_every_type_is_checked_is_a_key_is_shown_and_is_repaired(kafka, tmp_path):
    checks = tuple(
        Check(type="expect_column_values_to_not_be_null", kwargs={"column": name, "mostly": 0.4})
        for name in NAMES.values()
    )
    steps = (Transform(where="true"), Deduplicate(keys=KEYS))
    typed = Typed(kafka, tmp_path, *steps, watermark_delay="1 hour", output_checks=checks)
    typed.made.run()
    assert typed.rows(tuple(NAMES.values())) == wanted(NAMES, range(10), 1)
    assert {row["outcome"] for row in typed.made.ops("checks")} == {"passed"}
    shown = typed.shown()
    assert all(part in shown for part in ("t3", "0x0300ff", "3.25", "2026-03-04"))
    query = StateQuery(keys=("f9=2026-03-01T12:00:00.000003",))
    assert "t3" in "\n".join(state_view(typed.made.spec, typed.made.settings, query))
    typed.made.send(record(20, START + timedelta(days=2)), record(11, START))
    typed.made.run("later")
    typed.made.send(record(12, START))
    typed.made.run("late")
    assert len(typed.made.ops("late")) == 1
    report, swapped = Repairs(typed.made).done()
    assert swapped is not None
    assert (report.change.unexplained, report.change.added) == (0, 1)
    assert typed.rows(tuple(NAMES.values())) == wanted(NAMES, [*range(10), 11, 12, 20], 1)


def test_an_aggregate_by_every_type_has_extremes_and_counts_and_is_published(
    kafka, tmp_path, spark
):
    measures = {"records": "count(*)", **{f"min_{name}": f"min({name})" for name in ORDERED}}
    measures |= {f"max_{name}": f"max({name})" for name in ORDERED}
    measures |= {f"n_{name}": f"approx_count_distinct({name})" for name in KEYS[:12]}
    measures |= {f"sum_{NAMES[kind]}": f"sum({NAMES[kind]})" for kind in ("smallint", "decimal(12,2)", "float")}  # fmt: skip
    step = Aggregate(window=Tumbling(size="1 day"), keys=KEYS, measures=measures, counts="records")
    typed = Typed(kafka, tmp_path, step, watermark_delay="1 hour")
    typed.made.send(record(20, START + timedelta(days=3)))
    typed.made.run()
    found = {row["f0"]: row for row in typed.made.table()}
    assert len(found) == 11
    for n in range(10):
        row = found[f"t{n}"]
        assert row["records"] == 2
        for kind, name in NAMES.items():
            if name in ORDERED:
                assert _plain(row[f"min_{name}"]) == _plain(value_of(kind, n)), kind
        assert row[f"sum_{NAMES['decimal(12,2)']}"] == 2 * value_of("decimal(12,2)", n)
    assert "t20" in typed.shown()
    published_table.move(
        typed.made.paths, int(typed.made.ops("runs")[-1]["table_version"]), refuse_dead
    )
    published = spark.read.format("delta").load(spark_url(typed.made.paths.published_table))
    assert published.count() == 11


FORMS = {
    "row": ("EveryRow", {"time_mode": "none"}),
    "pandas": ("EveryFrame", {"time_mode": "none"}),
    "apply": ("every_by_function", {"time_mode": "none", "state": PLAIN}),
    "buckets": ("every_in_buckets", {"time_mode": "none", "buckets": 2, "state": HELD[1:]}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_group_state_of_every_form_gets_keeps_and_gives_every_type(
    kafka, tmp_path, monkeypatch, form
):
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.pipelines")
    processor, more = FORMS[form]
    step = GroupState(form=form, processor=processor, keys=("f0",), output=HELD, **more)
    typed = Typed(kafka, tmp_path, Transform(where="f0 IS NOT NULL"), step, name="every_type")
    far = json.loads(record(3, START)) | {
        NAMES["timestamp_ntz"]: "2300-01-01T00:00:00",
        "f0": "far",
    }
    typed.made.send(json.dumps(far).encode())
    report = typed.made.run()
    given = [*range(10)] * (1 if form == "buckets" else 2)
    rows = [row for row in typed.rows(tuple(NAMES.values())) if "'far'" not in row]
    assert rows == wanted(NAMES, given, 0)
    held = form in ("row", "buckets")
    assert (report.account.malformed, report.account.rows_out - len(rows)) == (not held, held)
    assert "t3" in typed.shown()
