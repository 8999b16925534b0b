"""What rows of each kind of state wait for, and how the measures of a step are told."""

from datetime import UTC, datetime

import pytest

from spark_jobs.messages.state_answer import (
    Expiring,
    Expiry,
    KeySizes,
    LargeKey,
    Measures,
    Power,
    StateAnswer,
    StepAnswer,
    VariableAnswer,
    told,
)
from spark_jobs.spec import Field, State
from spark_jobs.spec.steps.expires import Expires, Variable
from spark_jobs.state.table import Table
from tests.unit.specs import aggregate, deduplicate, group_state, in_buckets, pipeline

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
VALUE = Variable("seen", "ValueState")
TIMERS = Variable("event-time timers", "TimerState")
BUDGET = State(budget_rows=9)
APPLY = {"form": "apply", "state": (Field(name="n", type="bigint"),)}


def of(variable: Variable, *names: str) -> Table:
    return Table(variable, tuple((name, "value") for name in names), (), 7)


@pytest.mark.parametrize(
    ("step", "more", "table", "expected"),
    [
        (deduplicate(), {}, of(VALUE), ("expires_at", "watermark", "rows")),
        (deduplicate(keys=("id", "at"), scope="event_time"), {}, of(VALUE), ("at", "watermark", "rows")),
        (deduplicate(scope="for_ever"), {"state": BUDGET}, of(VALUE), ("", "nothing", "rows")),
        (aggregate(), {}, of(VALUE), ("window_end", "watermark", "rows")),
        (aggregate(), {"output_mode": "complete", "state": BUDGET}, of(VALUE), ("", "nothing", "rows")),
        (aggregate(window=None), {"output_mode": "update", "state": BUDGET}, of(VALUE), ("", "nothing", "rows")),
        (group_state(), {}, of(VALUE), ("", "processor", "rows")),
        (group_state(), {}, of(TIMERS, "due"), ("due", "watermark", "timers")),
        (group_state(time_mode="processing"), {"state": BUDGET}, of(TIMERS, "due"), ("due", "clock", "timers")),
        (group_state(time_mode="processing"), {"state": BUDGET}, of(VALUE._replace(ttl=True)), ("expires_at", "clock", "rows")),
        (group_state(**APPLY), {}, of(VALUE, "n", "timeout_at"), ("timeout_at", "watermark", "timeouts")),
        (in_buckets(), {"state": BUDGET}, of(VALUE), ("", "processor", "rows")),
    ],
    ids=[
        "deduplicate", "by event time", "for ever", "window", "complete", "no window",
        "variable", "timers", "by the clock", "ttl", "apply", "buckets",
    ],
)  # fmt: skip
def test_what_rows_wait_for_is_that_by_which_spark_removes_them(step, more, table, expected):
    spec = pipeline(steps=(step,), **more)
    found = step.expires(table.variable, table.names, spec.topic.event_time, spec.output_mode)
    assert found == Expires(*expected)


SIZES = KeySizes(
    columns=("shop", "till"),
    keys=1001,
    rows=3000,
    bytes=100_000,
    untimed=4,
    powers=(Power(power=6, keys=1000), Power(power=15, keys=1)),
    largest=(LargeKey(key=("é\\u202e", "7"), rows=1000, bytes=40_000),),
)
ROWS = Expiry(
    variable="", counted="rows", by="watermark", since=NOON, later=2, never=1,
    spans=(Expiring(hours=0, rows=5), Expiring(hours=1, rows=10), Expiring(hours=30, rows=20)),
)  # fmt: skip


def test_a_step_is_told_in_a_few_lines():
    assert [*told(Measures(SIZES, (ROWS,)))] == [
        "keys: 1,001; 3,000 rows, 100,000 bytes before compression",
        "bytes of a key: 64 to 127: 1,000, 32,768 to 65,535: 1",
        "largest key: 1,000 rows, 40,000 bytes, 40.0 %: shop é\\u202e, till 7",
        "keys without a timer: 4",
        "rows expire with the watermark: 5 due, 15 within an hour, 15 within a day, "
        "35 within a week, 2 in over ten years, 1 never",
    ]


def test_what_is_not_known_is_no_number():
    none = ROWS.model_copy(update={"since": None, "spans": (), "later": 38, "never": 0})
    lines = [*told(Measures(None, (none,)))]
    assert lines[0] == "key sizes: its store does not tell them"
    assert lines[1].endswith("38; there is no watermark yet")


def test_whoever_may_not_see_values_sees_sizes_without_names():
    variable = VariableAnswer(title="1 row", total=1, columns=("shop",), rows=(("secret",),))
    step = StepAnswer(
        step=1, kind="aggregate", operator="stateStoreSave", partitions=1,
        variables=(variable,), sizes=SIZES, expiry=(ROWS,),
    )  # fmt: skip
    answer = StateAnswer(generation="g", batch=1, watermark=NOON, read_at=NOON, steps=(step,))
    [shown] = answer.without_rows().steps
    assert [(each.key, each.bytes) for each in shown.sizes.largest] == [((), 40_000)]
    assert (shown.variables[0].rows, shown.expiry) == ((), (ROWS,))


def test_an_answer_that_an_older_sluice_kept_has_no_sizes_and_is_read(tmp_path):
    step = StepAnswer(step=1, kind="aggregate", operator="x", partitions=1, variables=())
    answer = StateAnswer(generation="g", batch=1, watermark=NOON, read_at=NOON, steps=(step,))
    old = answer.model_dump_json(exclude={"steps": {0: {"sizes", "expiry"}}})
    (tmp_path / "state.json").write_text(old)
    [found] = StateAnswer.read(tmp_path / "state.json").steps
    assert (found.sizes, found.expiry) == (None, None)
