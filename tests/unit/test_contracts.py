"""Which changes of a spec break whom: by a table that docs/operations.md and docs/records.md tell,
not by the code that compares.
"""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from spark_jobs.contracts.compare import compare
from spark_jobs.contracts.contract import Side, contract
from spark_jobs.contracts.finding import Finding, Whom
from spark_jobs.errors import StateIncompatible
from spark_jobs.registry.fingerprint.fields import Declared
from spark_jobs.spec import (
    Check,
    Field,
    Latest,
    Layout,
    Pipeline,
    Rule,
    Schedule,
    State,
    Transform,
    Tumbling,
)
from spark_jobs.transactions import Transactions
from tests.harness.long_form import examples
from tests.unit.specs import FIELDS, aggregate, deduplicate, pipeline, topic
from tests.unit.test_identity import paths, settled

__all__ = ["paths"]  # the fixture
STATE, TABLE, CONSUMERS, PRODUCERS = Whom.state, Whom.table, Whom.consumers, Whom.producers
ID, AT, SHOP, AMOUNT = FIELDS
LATER = Field(name="later", type="timestamp", required=False)
NO_MEASURE = {"sales": "count(*)"}

CHANGES: dict[str, tuple[dict[str, dict[str, Any]], set[Whom]]] = {
    "a longer delay": ({"spec": {"watermark_delay": "3 hours"}}, set()),
    "more stores": ({"spec": {"state": State(shuffle_partitions=4)}}, set()),
    "another time": ({"spec": {"schedule": Schedule(cron="5 * * * *")}}, set()),
    "a check": ({"spec": {"state_checks_off": ("late_share",)}}, set()),
    "an optional field more": ({"fields": {"later": LATER}}, set()),
    "a required field more": (
        {"fields": {"later": LATER.model_copy(update={"required": True})}},
        {PRODUCERS},
    ),
    "a field that is required now": (
        {"fields": {"amount": AMOUNT.model_copy(update={"required": True})}},
        {PRODUCERS},
    ),
    "a field of a narrower range": (
        {"fields": {"amount": AMOUNT.model_copy(update={"at_least": 1})}},
        {PRODUCERS},
    ),
    "clocks that may differ by less": ({"topic": {"max_ahead": timedelta(minutes=1)}}, {PRODUCERS}),
    "a key of the table that may be null": (
        {"fields": {"shop": SHOP.model_copy(update={"required": False})}},
        {CONSUMERS},
    ),
    "a field of another type": (
        {"fields": {"amount": AMOUNT.model_copy(update={"type": "decimal(20,0)"})}},
        {STATE, TABLE},
    ),
    "another topic": ({"topic": {"name": "returns"}}, {STATE}),
    "another duplicates' key": ({"dedup": {"keys": ("id", "shop")}}, {STATE}),
    "longer windows": ({"agg": {"window": Tumbling(size="2 hours")}}, {STATE}),
    "a measure less": ({"agg": {"measures": NO_MEASURE}}, {STATE, CONSUMERS}),
    "another key of the table": ({"agg": {"keys": ("shop", "id")}}, {STATE, CONSUMERS}),
}
SPEC = pipeline()


def made(*names: str) -> Pipeline:
    """Hourly sales with these changes."""
    given: dict[str, dict[str, Any]] = {}
    for name in names:
        for part, values in CHANGES[name][0].items():
            given.setdefault(part, {}).update(values)
    fields = {each.name: each for each in FIELDS} | given.get("fields", {})
    steps = (deduplicate(**given.get("dedup", {})), aggregate(**given.get("agg", {})))
    of = topic(**{"fields": tuple(fields.values())} | given.get("topic", {}))
    return pipeline(**{"topic": of, "steps": steps} | given.get("spec", {}))


def findings(was: Pipeline, now: Pipeline, **more: Pipeline) -> list[Finding]:
    """`more`: was_next, now_next."""
    sides = [
        Side(spec=contract(spec), next=contract(following) if following else None)
        for spec, following in ((was, more.get("was_next")), (now, more.get("now_next")))
    ]
    found = compare({"p": sides[0]}, {"p": sides[1]}, {"p": Declared(now)})
    return found.get("p", [])


def broken(was: Pipeline, now: Pipeline, **more: Pipeline) -> set[Whom]:
    return {whom for each in findings(was, now, **more) for whom in each.breaks}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_breaks_whom_the_documents_say(change):
    assert broken(SPEC, made(change)) == CHANGES[change][1]


def no_two_of_one(names: set[str]) -> bool:
    """Whether no two of the changes are of one value."""
    touched = [
        (part, value) for n in names for part, values in CHANGES[n][0].items() for value in values
    ]
    return len(touched) == len(set(touched))


@settings(max_examples=examples(60), deadline=None)
@given(st.sets(st.sampled_from([*CHANGES]), max_size=5).filter(no_two_of_one))
def test_several_changes_break_all_whom_each_of_them_breaks(names):
    expected = set[Whom]().union(*(CHANGES[name][1] for name in names))
    if "another topic" in names:  # whoever writes it wrote no record of the one before
        expected -= {PRODUCERS}
    assert broken(SPEC, made(*names)) == expected


@pytest.mark.parametrize("change", CHANGES)
def test_the_run_refuses_its_checkpoint_where_state_is_said_to_break(change, paths):
    refused = False
    try:
        settled(paths, made(change))
    except StateIncompatible:
        refused = True
    assert refused == (STATE in CHANGES[change][1])


def test_what_is_the_same_has_no_finding():
    assert findings(SPEC, made()) == []


def test_a_declared_correction_of_an_expression_breaks_no_state():
    sums = {"sales": "count(*)", "turnover": "sum(abs(amount))"}
    steps = (deduplicate(), aggregate(measures=sums))
    assert broken(SPEC, pipeline(steps=steps)) == {STATE}
    declared = pipeline(steps=steps, compatible_expressions=("sum(amount)",))
    # What it makes of a column, only Spark can tell.
    assert broken(SPEC, declared) == {Whom.unknown}


def test_a_declared_correction_of_sql_is_unknown_and_of_a_condition_breaks_nobody():
    def of(step, *declared):
        return pipeline(steps=(step,), watermark_delay=None, compatible_expressions=declared)

    rows, more = "SELECT id, at FROM rows", "SELECT id, at, 1 AS x FROM rows"
    assert broken(of(Transform(sql=rows)), of(Transform(sql=more), rows)) == {Whom.unknown}
    positive, above = (Transform(where=f"amount > {least}") for least in (0, 1))
    assert broken(of(positive), of(above, "amount > 0")) == set()


def test_a_topic_of_another_cluster_is_another_topic():
    assert broken(SPEC, pipeline(topic=topic(cluster="eu"))) == {STATE}


def latest(*fields: Field) -> Pipeline:
    steps = (Latest(keys=("id",), order_by=("at",)),)
    return pipeline(topic=topic(fields=(ID, AT, *fields)), steps=steps, watermark_delay=None)


def test_another_root_is_another_table_for_all():
    assert broken(SPEC, SPEC.model_copy(update={"root": "eu"})) == {STATE, TABLE, CONSUMERS}


def test_a_column_that_has_another_name_is_told_as_renamed():
    price = AMOUNT.model_copy(update={"name": "price", "path": "amount"})
    told = [each.change for each in findings(latest(SHOP, AMOUNT), latest(SHOP, price))]
    assert "column amount is named price" in told
    assert not any("gone" in each for each in told)


def test_a_column_of_another_type_breaks_all_but_producers():
    wide = AMOUNT.model_copy(update={"type": "double"})
    assert broken(latest(AMOUNT), latest(wide)) == {STATE, TABLE, CONSUMERS}


def test_a_rebuild_breaks_consumers_alone_and_says_so_before_its_switch():
    following = made("a measure less").model_copy(update={"state": State(version=2)})
    assert broken(SPEC, SPEC, now_next=following) == {CONSUMERS}
    assert broken(SPEC, SPEC, was_next=following, now_next=following) == set()


def test_next_that_becomes_spec_goes_on_with_its_own_state():
    following = made("longer windows").model_copy(update={"state": State(version=2)})
    assert broken(SPEC, following, was_next=following) == set()
    assert broken(SPEC, following) == {STATE}


def test_next_that_is_changed_or_removed_amid_its_rebuild_breaks_that():
    both = [
        made(name).model_copy(update={"state": State(version=2)})
        for name in ("longer windows", "another duplicates' key")
    ]
    assert broken(SPEC, SPEC, was_next=both[0]) == {STATE}
    assert broken(SPEC, SPEC, was_next=both[0], now_next=both[1]) == {STATE}


def test_a_pipeline_that_is_gone_breaks_consumers_and_a_new_one_nobody():
    sides = {"p": Side(spec=contract(SPEC))}
    assert [f.breaks for f in compare(sides, {}, {})["p"]] == [(CONSUMERS,)]
    assert [f.breaks for f in compare({}, sides, {"p": Declared(SPEC)})["p"]] == [()]


def test_other_partitions_break_the_table_and_other_clusters_nobody():
    by_amount = Layout(partition_by=("amount",))
    steps = (deduplicate(),)
    assert broken(pipeline(steps=steps), pipeline(steps=steps, layout=by_amount)) == {TABLE}
    clustered = pipeline(steps=steps, layout=Layout(cluster_by=("shop",)))
    [told] = findings(pipeline(steps=steps), clustered)
    assert told.breaks == ()


def test_transactions_that_are_no_longer_shown_whole_break_consumers():
    whole, parts = (
        pipeline(topic=topic(envelope="debezium"), publish_at=at)
        for at in (Transactions(topic="shop.transaction"), None)
    )
    assert broken(whole, parts) == {CONSUMERS}
    assert broken(parts, whole) == set()


def test_rows_that_are_written_again_break_who_streams_them():
    once, again = (
        pipeline(steps=(aggregate(),), output_mode=mode) for mode in ("append", "update")
    )
    assert broken(once, again) == {STATE, CONSUMERS}


def test_checks_bind_nobody():
    check = Check(type="expect_column_values_to_not_be_null", kwargs={"column": "shop"})
    assert findings(SPEC, pipeline(output_checks=(check,))) == []


def test_what_sql_makes_of_a_field_is_not_the_field():
    sql = Transform(sql="SELECT id, at, coalesce(shop, 'none') AS shop, amount FROM rows")
    steps = (sql, deduplicate(), aggregate())
    optional = topic(fields=(ID, AT, SHOP.model_copy(update={"required": False}), AMOUNT))
    assert broken(pipeline(steps=steps), pipeline(steps=steps, topic=optional)) == set()


POSITIVE = Rule(name="positive", sql="amount > 0", on_failure="quarantine")
BACKFILL, REPLAY = "sluice backfill", "sluice replay"


@pytest.mark.parametrize(
    ("was", "now", "asks"),
    [
        ((), (POSITIVE,), BACKFILL),
        ((POSITIVE,), (), REPLAY),
        ((POSITIVE,), ({"name": "above"},), ""),
        ((POSITIVE,), ({"sql": "amount > 1"},), "only the records tell"),
        ((POSITIVE,), ({"on_failure": "refuse"},), BACKFILL),
        ((POSITIVE,), ({"on_failure": "warn"},), REPLAY),
        (({"on_failure": "drop"},), ({"on_failure": "warn"},), BACKFILL),
        (({"on_failure": "warn"},), (POSITIVE,), BACKFILL),
        ((POSITIVE,), ({"null": "fails"},), BACKFILL),
        (({"null": "fails"},), (POSITIVE,), REPLAY),
        (({"on_failure": "warn"},), (), ""),
        (({"on_failure": "warn"},), ({"on_failure": "warn", "null": "fails"},), ""),
    ],
    ids=[
        "new", "gone", "renamed", "other sql", "refuses", "warns", "drops no more", "quarantines",
        "null fails", "null passes", "a warning gone", "a warning's null",
    ],
)  # fmt: skip
def test_another_rule_is_free_and_says_what_takes_out_or_brings_in_the_records(was, now, asks):
    def ruled(rules):
        given = (
            each if isinstance(each, Rule) else POSITIVE.model_copy(update=each) for each in rules
        )
        return pipeline(topic=topic(rules=tuple(given)))

    [finding] = against(ruled(was), ruled(now))["p"]
    assert finding.breaks == ()
    assert asks in finding.change
    assert asks or not {BACKFILL, REPLAY} & {*finding.change.split("`")}


def test_the_same_rules_in_another_order_are_no_change():
    open_ = Rule(name="open", sql="shop <> 'closed'", on_failure="drop")
    orders = ((POSITIVE, open_), (open_, POSITIVE))
    assert against(*(pipeline(topic=topic(rules=of)) for of in orders)) == {}


def against(was: Pipeline, now: Pipeline):
    sides = ({"p": Side(spec=contract(each))} for each in (was, now))
    return compare(*sides, {"p": Declared(now)})
