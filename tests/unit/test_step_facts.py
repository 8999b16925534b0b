"""Each step is asked each fact: the base's answer, that of a step without state, is right for it or
it has its own.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from inspect import signature
from pkgutil import resolve_name
from typing import Any

import pytest
from pydantic_core import PydanticCustomError

from spark_jobs.spec import Deduplicate, Field, History, Latest, Ranges, Tumbling
from spark_jobs.spec.columns import Origin
from spark_jobs.spec.steps.expires import Expires, Variable
from spark_jobs.spec.steps.following import Following
from spark_jobs.spec.steps.step import Balance, Step
from spark_jobs.values.spans import MICROSECOND, Position, Span
from tests.unit.specs import group_state
from tests.unit.test_steps import EXAMPLES, JOIN, ONCE, SHOPS, STEPS

COLUMNS = ("id", "at", "shop", "amount")
TYPES = {"id": "string", "at": "timestamp", "shop": "string", "amount": "bigint"}
ORIGINS = {name: (Origin(name, "identity"),) for name in COLUMNS}
SPANS = {"valid_from": "timestamp", "valid_to": "timestamp", "current": "boolean"}
OF_WINDOW = (Origin("at", "transformation"),)
HOUR = timedelta(hours=1)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SPAN = Span(NOON, NOON + HOUR)
RANGES = Ranges(by="at", context="30 minutes")
AT = Position("at")
BY_KEY = "a change of any time may decide what a {} has of its key"


def _ago(before: float, behind: float = 0) -> Span:
    return Span(NOON - HOUR * before, NOON + HOUR * (1 + behind))


def _refused(ask: Callable[..., None], *given: Any, **more: Any) -> str | None:
    """The field that is refused; None if none is."""
    try:
        ask(*given, **more)
    except PydanticCustomError as error:
        return str((error.context or {})["field"])
    return None


def _changed(before: Step, after: Step) -> dict[str, Any]:
    return {name: value for name, value in after if value != getattr(before, name)}


ASKED: dict[str, Callable[[Step], Any]] = {
    "state_key": lambda step: step.state_key(COLUMNS),
    "drops_within": lambda step: step.drops_within("flights"),
    "columns_after": lambda step: step.columns_after(COLUMNS),
    "types_after": lambda step: step.types_after(TYPES),
    "origins_after": lambda step: step.origins_after(ORIGINS, "at"),
    "carried": lambda step: step.carried(TYPES, str.upper, lambda field: f"yields {field.name}"),
    "time_after": lambda step: step.time_after("at"),
    "refuse_time": lambda step: _refused(step.refuse_time, "shop", "append"),
    "refuse_mode": lambda step: _refused(step.refuse_mode, "complete", first=True),
    "unranged": lambda step: step.unranged(RANGES),
    "needed": lambda step: step.needed(SPAN, HOUR * 2, RANGES, "flights"),
    "touched": lambda step: step.touched(SPAN, RANGES, "flights"),
    "copies_for": lambda step: step.copies_for(HOUR),
    "first_timely": lambda step: step.first_timely(NOON),
    "found_by": lambda step: step.found_by("shops"),
    "settled_after": lambda step: step.settled_after(RANGES),
    "position_after": lambda step: step.position_after(AT, RANGES),
    "with_expressions": lambda step: _changed(step, step.with_expressions(WAS)),
    "unheld": lambda step: step.unheld("timestamp"),
    "expires": lambda step: step.expires(Variable("", "operator"), ("expires_at",), "at", "append"),
    "refuse_types": lambda step: _refused(
        step.refuse_types, TYPES | {"shop": "array<int>", "id": "double"}
    ),
    "refuse_beside": lambda step: _refused(
        step.refuse_beside, (), (), "append", several=False, undeleted=True
    ),
    "counting": lambda step: step.counting(HOUR),
    "taking": lambda step: step.taking(()).takes or None,
    "pairs": lambda step: step.pairs("flights") and {*step.pairs("flights").columns},
    "sql_texts": lambda step: [each.text for each in step.sql_texts],
}
"""How a fact is asked that is more than an attribute."""

WAS = {"where": "amount > 9", "sql": None, "measures": [["sales", "sum(amount)"]], "window": {}}
NO_JULIAN = (
    ((datetime(1582, 10, 5, tzinfo=UTC), datetime(1582, 10, 14, 23, 59, 59, 999999, tzinfo=UTC)),),
    "Spark's state has no times from 1582-10-05 to 1582-10-14 for a GroupState of form 'row'",
)
PLACED = {"keys": ("id",), "order_by": ("at",)}
NONE, FALSE = (None,) * 8, (False,) * 8
# fmt: off
SAID: dict[str, tuple[Any, ...]] = {
    # fact: deduplicate, aggregate, group_state, latest, history, transform, lookup, join
    "operator": (
        "spark_jobs.steps.deduplicate:DeduplicateOperator",
        "spark_jobs.steps.aggregate:AggregateOperator",
        "spark_jobs.steps.group_state:GroupStateOperator",
        "spark_jobs.steps.latest:LatestOperator",
        "spark_jobs.steps.history:HistoryOperator",
        "spark_jobs.steps.transform:TransformOperator",
        "spark_jobs.steps.beside.lookup:LookupOperator",
        "spark_jobs.steps.apart.join:JoinOperator",
    ),
    "canonical": (
        "spark_jobs.steps.canonical.deduplicate:all_at_once",
        "spark_jobs.steps.canonical.aggregate:all_at_once",
        None,
        None,
        None,
        "spark_jobs.steps.transform:all_at_once",
        "spark_jobs.steps.beside.lookup:all_at_once",
        "spark_jobs.steps.apart.join:all_at_once",
    ),
    "described": (
        "drop duplicates: rows whose `id` are equal (keys are kept until the watermark passes "
        "their event time plus the delay)",
        "for every 1 hour and `shop`: `sales` = `count(*)`, `turnover` = `sum(amount)`",
        "for every `shop`: `Shops` in logic.py, timers by event time; output columns `shop`",
        "keep the newest row of each `id`, by `at`",
        "keep every version of the row of each `id`, by `at`, valid from at",
        "keep rows where `amount > 0`",
        "add `region` of the row of `shops` for `shop`, valid at the event time; without one the "
        "record is malformed",
        "to each row of `sales` those of `flights` with `id` = `id`, from 0 seconds to 30 minutes later; "
        "first drop copies of `flights` by `id`",
    ),
    "evicted_by": ("watermark", "watermark", "watermark", "nothing", "nothing", "nothing", "nothing", "watermark"),
    "rows_per_record": (1, 1, 4, 0, 0, 0, 0, 2),
    "update_key": (None, ("window_start", "window_end", "shop"), ("shop",), None, None, None, None, None),
    "balance": (
        Balance("rows", drops_duplicates=True, only_fewer=True, several_per_key=False),
        Balance("groups", drops_duplicates=False, only_fewer=False, several_per_key=False),
        Balance("rows", drops_duplicates=False, only_fewer=False, several_per_key=True),
        *[Balance("rows", drops_duplicates=False, only_fewer=True, several_per_key=False)] * 3,
        Balance("rows", drops_duplicates=False, only_fewer=True, several_per_key=False),
        Balance("rows", False, False, False, ("join_left", "join_right")),
    ),
    "aggregates": ({}, {"sales": "count(*)", "turnover": "sum(amount)"}, {}, {}, {}, {}, {}, {}),
    "counted_by": (None, "sales", None, None, None, None, None, None),
    "grouping_keys": (None, ("shop",), ("shop",), None, None, None, None, ("id",)),
    "condition": (None, None, None, None, None, "amount > 0", None, None),
    "remembers": (True, True, True, True, True, False, False, True),
    "keeps_rows": (True, False, False, False, False, True, False, False),
    "by_code": (False, False, True, False, False, False, False, False),
    "row_key": (
        None,
        ("window_start", "window_end", "shop"),
        None,
        ("id",),
        ("id", "at"),
        None,
        None,
        None,
    ),
    "logic": (None, None, "Shops", None, None, None, None, None),
    "kind": ("deduplicate", "aggregate", "group_state", "latest", "history", "transform", "lookup", "join"),
    "stateful": (True, True, True, False, False, False, False, True),
    "called_with": (("rows",), ("rows",), None, ("rows",), ("rows",), ("rows",), ("rows",), ("rows",)),
    "distinct_by": (("id",), *[None] * 5, None, None),
    "decided_by": (("id",), None, None, ("id", "at"), ("id", "at"), None, None, None),
    "needs_watermark": FALSE,
    "bucketed": NONE,
    "unfollowed": (*NONE[:7], JOIN.unfollowed),
    "placed": ((), (), (), ("id", "at"), ("id", "at"), (), (), ()),
    "rejects": (*[False] * 6, True, False),
    "sides": ((), (), (), (), (), (), (SHOPS,), ()),
    "counts_unmatched": (*[()] * 6, ("shops",), ()),
    "follows": (False, False, False, True, True, False, False, False),
    "found_by": (*[{}] * 6, {"id": "shop"}, {}),
    "with_expressions": (
        {},
        {"measures": {"sales": "sum(amount)"}},
        *[{}] * 3,
        {"where": "amount > 9"},
        {},
        {},
    ),
    "unheld": (((), ""), ((), ""), NO_JULIAN, *[((), "")] * 3, ((), ""), ((), "")),
    "expires": (
        Expires("expires_at", "watermark"),
        Expires("window_end", "watermark"),
        Expires("", "processor"),
        *[Expires()] * 4,
        Expires("flights_at", "watermark"),
    ),
    "refuse_types": (None, None, "GroupState.keys", "Latest.keys", "History.keys", None, "Lookup.on", "Join.on"),
    "refuse_beside": (None, None, None, "Latest.deletes", "History.deletes", None, None, None),
    "grouping_window": (None, Tumbling(size="1 hour"), None, None, None, None, None, None),
    "late_after": (timedelta(), HOUR, timedelta(), None, None, None, None, timedelta()),
    "endless": FALSE,
    "needs_rocksdb": (False, False, True, False, False, False, False, True),
    "sql_texts": ([], ["count(*)", "sum(amount)"], [], [], [], ["amount > 0"], [], []),
    "state_key": (("id",), ("window_start", "window_end", "shop"), ("shop",), (), (), (), (), ("id",)),
    "columns_after": (
        COLUMNS,
        ("window_start", "window_end", "shop", "sales", "turnover"),
        ("shop",),
        COLUMNS,
        (*COLUMNS, "valid_from", "valid_to", "current"),
        COLUMNS,
        (*COLUMNS, "region"),
        (*COLUMNS, *(f"flights_{name}" for name in COLUMNS[1:])),
    ),
    "types_after": (TYPES, *[{"shop": "string"}] * 2, TYPES, TYPES | SPANS, TYPES, TYPES | {"region": "string"}, TYPES | {f"flights_{name}": TYPES[name] for name in COLUMNS[1:]}),
    "origins_after": (
        ORIGINS,
        {
            "shop": ORIGINS["shop"],
            "turnover": (Origin("amount", "aggregation"),),
            "window_start": OF_WINDOW,
            "window_end": OF_WINDOW,
        },
        {},
        ORIGINS,
        ORIGINS | dict.fromkeys(("valid_from", "valid_to"), (Origin("at", "aggregation"),)),
        ORIGINS,
        ORIGINS | {"region": (Origin("shop", "transformation"),)},
        ORIGINS | {f"flights_{name}": ORIGINS[name] for name in COLUMNS[1:]},
    ),
    "carried": (
        TYPES,
        {"shop": "string", "sales": "COUNT(*)", "turnover": "SUM(AMOUNT)"},
        {"shop": "yields shop"},
        *[TYPES] * 3,
        TYPES | {"region": "yields region"},
        TYPES | {f"flights_{name}": f"yields {name}" for name in COLUMNS[1:]},
    ),
    "time_after": ("at", None, None, None, None, "at", "at", "at"),
    "refuse_time": (None, "Aggregate.keys", None, None, None, None, None, None),
    "refuse_mode": (None, None, "output_mode", None, None, None, None, "output_mode"),
    "unranged": (None, None, None, BY_KEY.format("Latest"), BY_KEY.format("History"), None, None, None),
    "needed": (_ago(2, 2), _ago(0), _ago(0.5), _ago(0), _ago(0), _ago(0), _ago(0), _ago(2, 2.5)),
    "touched": (_ago(0), _ago(0), _ago(0, 0.5), _ago(0), _ago(0), _ago(0), _ago(0), _ago(0.5)),
    "copies_for": (HOUR, *[None] * 5, None, None),
    "drops_within": (*[False] * 7, True),
    "dropping": ((EXAMPLES[Deduplicate],), *[()] * 6, ONCE["flights"]),
    "first_timely": (NOON + MICROSECOND, NOON, NOON + MICROSECOND, *[None] * 4, NOON + MICROSECOND),
    "settled_after": (None, None, RANGES.settle, None, None, None, None, timedelta(minutes=30, milliseconds=1)),
    "takes": (*[()] * 7, ("sales", "flights")),
    "position_after": (AT, Position("window_end", "end"), None, AT, AT, AT, AT, AT),
    "operators": (1, 1, 1, 0, 0, 0, 0, 2),
    "doubts": (*[()] * 7, JOIN.doubts),
    "stores_rows": (*FALSE[:7], True),
    "counting": (*NONE[:7], "spark_jobs.audit.left_rows:LeftRows"),
    "taking": (*NONE[:7], ("sales", "flights")),
    "pairs": (*NONE[:7], {"id", *JOIN.found.values()}),
}
OF_KEYS: dict[str, tuple[Any, ...]] = {
    # fact: latest, history
    "spans": ((), ("valid_from", "valid_to", "current")),
    "parted_by": ((), ("current",)),
    "commits": ("spark_jobs.sink.keyed.follow:follow",) * 2,
    "accounts": ("spark_jobs.audit.keyed_account:keyed",) * 2,
    "remembers_share": ("spark_jobs.sink.keyed.forgetting:remembered_share",) * 2,
    "forgets": ("spark_jobs.sink.keyed.forgetting:forget_deletes",) * 2,
    "time": ("at", "at"),
    "forgets_after": (timedelta(days=30), None),
    "highest_decides": (True, True),
    "compared": (PLACED, PLACED | {"valid_from": ("at",)}),
}
# fmt: on


def test_each_fact_of_a_step_is_asked_here():
    named = {*vars(Step), *Step.__annotations__}
    facts = {name for name in named if not name.startswith("_")}
    of_pydantic = {name for name in facts if name.startswith("model_")}
    assert facts - of_pydantic == set(SAID)
    assert ASKED.keys() <= SAID.keys()


@pytest.mark.parametrize("fact", SAID)
@pytest.mark.parametrize("kind", STEPS, ids=lambda kind: kind.__name__)
def test_a_step_answers_as_the_table_says(kind, fact):
    step = EXAMPLES[kind]
    ask = ASKED.get(fact, lambda step: getattr(step, fact))
    place = (
        *("deduplicate", "aggregate", "group_state", "latest", "history", "transform", "lookup"),
        "join",
    )
    assert ask(step) == SAID[fact][place.index(step.kind)]


def test_each_fact_of_a_step_that_follows_a_key_is_asked_here():
    own = {*vars(Following), *Following.__annotations__} - Following.model_fields.keys()
    assert {name for name in own if not name.startswith(("_", "model_"))} - SAID.keys() == set(
        OF_KEYS
    )


@pytest.mark.parametrize("fact", OF_KEYS)
@pytest.mark.parametrize(("place", "kind"), [*enumerate((Latest, History))])
def test_a_step_that_follows_a_key_answers_as_the_table_says(place, kind, fact):
    assert getattr(EXAMPLES[kind], fact) == OF_KEYS[fact][place]


SEEN = (Field(name="seen", type="bigint"),)


@pytest.mark.parametrize(
    ("form", "fact", "said"),
    [
        ("apply", "called_with", ("key", "frames", "state")),
        ("buckets", "called_with", ("rows", "state")),
        ("apply", "needs_watermark", True),
        ("buckets", "needs_watermark", False),
        ("buckets", "bucketed", (8, ("shop",), SEEN)),
        ("apply", "unfollowed", "Spark allows no stateful step after applyInPandasWithState"),
        ("buckets", "unfollowed", "no stateful step can follow a GroupState in buckets"),
    ],
)
def test_a_form_of_group_state_answers_as_the_form_is(form, fact, said):
    more = {"buckets": 8, "time_mode": "none"} if form == "buckets" else {}
    found = getattr(group_state(form=form, state=SEEN, **more), fact)
    assert (found[0] if fact == "unfollowed" else found) == said


PARTIAL = EXAMPLES[Latest].model_copy(update={"missing": "keep"})
NAMES = ("operator", "canonical", "commits", "accounts", "remembers_share", "forgets")


@pytest.mark.parametrize("step", [*EXAMPLES.values(), PARTIAL], ids=lambda step: step.kind)
def test_the_code_that_a_step_names_is_there_and_takes_what_it_is_given(step):
    """A name is a text: no import, and so neither mypy nor import-linter, finds one that is wrong."""
    named = {name: resolve_name(text) for name in NAMES if (text := getattr(step, name, None))}
    taken = {name: len(signature(each).parameters) for name, each in named.items()}
    wanted = {"operator": 1, "canonical": 3, "commits": 3, "accounts": 3} | {
        "remembers_share": 2,
        "forgets": 2,
    }
    assert taken == {name: wanted[name] for name in named}
    assert ("commits" in named) == isinstance(step, Following)
