"""Specs that are refused in one message with field, value, reason and remedy."""
# mypy: disable-error-code="arg-type, call-arg"

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from croniter import croniter  # type: ignore[import-untyped, unused-ignore]
from hypothesis import example, given, strategies as st

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import (
    Check,
    Field,
    GroupState,
    Schedule,
    Session,
    Sliding,
    State,
    Transform,
    Tumbling,
    cron,
    within,
)
from spark_jobs.spec.duration import UNITS, interval, parse_duration
from spark_jobs.spec.model import Model
from tests.harness.refused import fails, has
from tests.unit.specs import (
    FIELDS,
    aggregate,
    deduplicate,
    group_state,
    in_buckets,
    pipeline,
    topic,
)

WHERE = Transform(where="amount > 0")
BUDGET = State(budget_rows=1000)
SHOP = (Field(name="shop", type="string"),)
AT = Field(name="at", type="timestamp")


def apply(**changes: Any) -> GroupState:
    """State by shop, in Spark's older form."""
    return group_state(form="apply", **{"state": SHOP} | changes)


# What is made, then what its message says: the field | the value | the reason | the remedy.
REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "an unknown field": (lambda: pipeline(watermark_delays="1 hour"), "'watermark_delays' | '1 hour' | unknown field | did you mean 'watermark_delay'?"),
    "an unknown field that resembles none": (lambda: State(zzz=1), "'zzz' | 1 | unknown field | the fields are version, shuffle_partitions, provider"),
    "a missing field": (Tumbling, "'size' | missing | it has no default | the length of a window"),
    "text where a number belongs": (lambda: State(shuffle_partitions="2"), "shuffle_partitions | '2' | should be | a valid integer"),
    "a truth where a number belongs": (lambda: State(version=True), "version | True | should be | a valid integer"),
    "a single key that is not a tuple": (lambda: deduplicate(keys="id"), "keys | 'id' | should be a valid tuple | ('one',)"),
    "a fault within a dict that becomes a model": (
        lambda: pipeline(state={"versoin": 2}),
        "State: unknown field 'versoin' | 2 | unknown | did you mean 'version'?",
    ),
    "a list where a model belongs": (lambda: pipeline(state=["rocksdb"]), "state | ['rocksdb'] | should be | instance of State"),
    "no time to stand still": (lambda: pipeline(stall_timeout=timedelta()), "stall_timeout | must be more than 0 | '30 minutes'"),
    "no time for a drain": (lambda: Schedule(execution_timeout=timedelta()), "execution_timeout | must be more than 0 | '30 minutes'"),
    "a number below its bound": (lambda: State(shuffle_partitions=0), "shuffle_partitions | 0 | should be | greater than or equal to 1"),
    "an output mode that there is not": (lambda: pipeline(output_mode="upsert"), "output_mode | 'upsert' | should be | 'append'"),
    "a step that is a name": (
        lambda: pipeline(steps=("deduplicate",)),
        "steps.0 | 'deduplicate' | instance of Step | Write it as a call",
    ),
    "transactions by the word of before": (
        lambda: pipeline(publish_at="transaction"),
        "publish_at | 'transaction' | Write it as a call, such as Transactions(topic=",
    ),
    "a step that is a dict": (
        lambda: pipeline(steps=({"kind": "deduplicate"},)),
        "steps.0 | {'kind': 'deduplicate'} | instance of Step | Write it as a call",
    ),
    "steps that are a class": (
        lambda: pipeline(steps=Tumbling),
        "steps | valid tuple | Write ('one',) for one",
    ),
    "no steps": (lambda: pipeline(steps=()), "steps | () | should have | at least 1 item"),
    "a watermark delay of 0": (lambda: pipeline(watermark_delay=timedelta()), "watermark_delay | '0:00:00' | newest one seen | at least a second"),
    "a watermark delay in months": (lambda: pipeline(watermark_delay="2 months"), "watermark_delay | '2 months' | not a duration | '2 hours'"),
    "a watermark delay without a unit": (lambda: pipeline(watermark_delay=7200), "watermark_delay | 7200 | not a duration | Write a timedelta"),
    "a fraction of an hour": (lambda: pipeline(watermark_delay="1.5 hours"), "watermark_delay | '1.5 hours' | not a duration | '2 hours'"),
    "a negative delay as text": (lambda: pipeline(watermark_delay="-1 hour"), "watermark_delay | '-1 hour' | not a duration | '2 hours'"),
    "a negative delay": (lambda: pipeline(watermark_delay=timedelta(hours=-1)), "watermark_delay | -1 day | newest | at least a second"),
    "a delay of more days than there are": (lambda: pipeline(watermark_delay="999999999999 weeks"), "watermark_delay | 999999999999 | longer than | shorter"),
    "a delay of three centuries": (lambda: pipeline(watermark_delay=timedelta(days=109_575)), "watermark_delay | 109575 days | longer than | shorter"),
    "a delay finer than a millisecond": (lambda: pipeline(watermark_delay=timedelta(microseconds=1)), "watermark_delay | 0:00:00.0 | milliseconds | Round"),
    "a window without a length": (lambda: Tumbling(size="0 seconds"), "size | '0:00:00' | it must be more than 0 | '30 minutes'"),
    "clocks that must agree exactly": (lambda: topic(max_ahead="0 seconds"), "max_ahead | '0:00:00' | it must be more than 0 | '30 minutes'"),
    "append mode without a watermark": (lambda: pipeline(watermark_delay=None), "watermark_delay | None | grows for ever | watermark_delay='2 hours'"),
    "an aggregation without a watermark": (
        lambda: pipeline(watermark_delay=None, steps=(aggregate(),)),
        "watermark_delay | None | only a watermark evicts | Set how long",
    ),
    "state without bound and without a budget": (
        lambda: pipeline(steps=(deduplicate(scope="for_ever"),)),
        "state.budget_rows | None | nothing evicts the state of deduplicate | Set the most rows",
    ),
    "windows that slide over nothing": (lambda: Sliding(size="1 hour", slide="2 hours"), "slide | '2:00:00' | would not overlap | use Tumbling"),
    "a session without a gap": (Session, "gap | None | a session needs exactly one | gap='30 minutes'"),
    "a session with two gaps": (lambda: Session(gap="1 hour", gap_sql="x"), "gap | timedelta(seconds=3600) | exactly one | gap='30 minutes'"),
    "a group that never closes, in append mode": (
        lambda: pipeline(steps=(aggregate(window=None),), state=BUDGET),
        "output_mode | 'append' | without a window is never final | Use update or complete",
    ),
    "groups by the event time, in update mode": (
        lambda: pipeline(steps=(aggregate(window=None, keys=("at",)),), output_mode="update", state=BUDGET),
        "Aggregate.keys | ('at',) | evict groups by at | Group by a window",
    ),
    "windows by the event time": (
        lambda: pipeline(steps=(aggregate(keys=("at", "shop")),)),
        "Aggregate.keys | ('at', 'shop') | drop their late rows | begin with a Transform",
    ),
    "sessions of rows behind the watermark": (
        lambda: pipeline(steps=(aggregate(window=Session(gap="1 hour")),)),
        "steps | 'session' | after Spark wrote the first | Put a Deduplicate before",
    ),
    "sessions that are updated": (
        lambda: pipeline(steps=(aggregate(window=Session(gap="1 hour")),), output_mode="update"),
        "output_mode | 'update' | changes its window | Use append",
    ),
    "two stateful steps in update mode": (lambda: pipeline(output_mode="update"), "output_mode | 'update' | one Aggregate or GroupState | Use append"),
    "the whole result of no aggregation": (
        lambda: pipeline(steps=(deduplicate(),), output_mode="complete", state=BUDGET),
        "output_mode | 'complete' | one Aggregate or GroupState | Use append",
    ),
    "a filter after groups that are updated": (
        lambda: pipeline(steps=(aggregate(), Transform(where="sales > 1")), output_mode="update"),
        "output_mode | 'update' | cannot remove a row | Put the aggregate last",
    ),
    "the whole result without a budget": (
        lambda: pipeline(steps=(aggregate(),), output_mode="complete"),
        "state.budget_rows | None | nothing evicts the state of aggregate | Set the most rows",
    ),
    "an event time that is to evict and is no key": (
        lambda: pipeline(steps=(deduplicate(scope="event_time"),)),
        "Deduplicate.keys | ('id',) | evicts by at, which is not in keys | Add it to the keys",
    ),
    "a run of no batches": (lambda: pipeline(max_batches=0), "max_batches | 0 | greater than or equal to 1"),
    "a run of no time": (lambda: pipeline(max_minutes=0), "max_minutes | 0 | greater than 0"),
    "a deduplication key that is not in the schema": (
        lambda: pipeline(steps=(deduplicate(keys=("no",)),)),
        "Deduplicate.keys | 'no' | no such column | id, at, shop",
    ),
    "a grouping key that is not in the schema": (
        lambda: pipeline(steps=(aggregate(keys=("town",)),)),
        "Aggregate.keys | 'town' | no such column | id, at, shop",
    ),
    "a state key that is not in the schema": (
        lambda: pipeline(steps=(group_state(keys=("town",)),)),
        "GroupState.keys | 'town' | no such column | id, at, shop",
    ),
    "a key twice": (lambda: deduplicate(keys=("id", "id")), "keys | ['id'] | more than once | List each name once"),
    "a grouping key that the window makes": (lambda: aggregate(keys=("window_start",)), "keys | ['window_start'] | adds columns with these names | rename"),
    "an output column twice": (lambda: group_state(output=(FIELDS[0], FIELDS[0])), "output | ['id'] | more than once | List each name once"),
    "state after an aggregation": (
        lambda: pipeline(steps=(aggregate(), deduplicate(keys=("shop",)))),
        "steps | 'deduplicate' | rows that leave aggregate have no event time | Give the aggregate an event_time",
    ),
    "state after state of one's own": (
        lambda: pipeline(steps=(group_state(), WHERE, deduplicate(keys=("shop",)))),
        "steps | 'deduplicate' | rows that leave group_state have no event time | or put it last",
    ),
    "state after applyInPandasWithState": (
        lambda: pipeline(steps=(apply(), deduplicate(keys=("shop",)))),
        "steps | 'deduplicate' | no stateful step after applyInPandasWithState | Use form='row' or 'pandas'",
    ),
    "applyInPandasWithState with a state that has parts": (
        lambda: apply(state=(Field(name="seen", type="array<string>"),)),
        "state | ['seen'] | keeps no array, map or struct | as a string",
    ),
    "a processor's key that has parts": (
        lambda: pipeline(topic=topic(fields=(*topic().fields, Field(name="tags", type="array<string>"))), steps=(group_state(keys=("tags",)),)),
        "GroupState.keys | ['tags'] | no key of type array or struct | in a Transform",
    ),
    "a map as a key": (
        lambda: pipeline(topic=topic(fields=(*topic().fields, Field(name="tags", type="map<string,int>"))), steps=(deduplicate(keys=("tags",)),)),
        "deduplicate.keys | ['tags'] | no maps | in a Transform",
    ),
    "a format's name in place of a format": (lambda: topic(format="avro"), "format | 'avro' | Write it as a call, such as Json()"),
    "an event time among no times": (lambda: topic(fields=(Field(name="at", type="bigint"),)), "event_time | 'at' | format='ms' | part='timestamp'"),
    "a path of JSONPath": (lambda: Field(name="x", type="string", path="$.data.id"), "path is '$.data.id' | JSONPath | Write it as 'data.user.id'"),
    "one of several paths": (lambda: Field(name="x", type="string", path=("id", "a..b")), "path is 'a..b' | '.b' is no key"),
    "a type's name of another system": (lambda: Field(name="x", type="array<long>"), "type | 'array<long>' | 'long' is none of them, bigint is"),
    "a smallest value beyond the largest": (
        lambda: Field(name="x", type="decimal(4,2)", at_least="10.00", at_most="9.5"),
        "at_least | '10.00' | more than at_most",
    ),
    "a format of a time that is none": (lambda: Field(name="x", type="date", format="iso"), "format | 'iso' | 'days', Local(...) | RFC 3339"),
    "applyInPandasWithState without the columns of its state": (lambda: apply(state=()), "state | () | must know the columns | Declare them"),
    "applyInPandasWithState with an initial state": (
        lambda: apply(initial_state="before"),
        "initial_state | 'before' | takes no initial state | Use form='row'",
    ),
    "applyInPandasWithState with an event time": (lambda: apply(event_time="at"), "event_time | 'at' | no stateful step can follow | Leave it out"),
    "columns of state for a processor": (
        lambda: group_state(state=SHOP),
        "state | ['shop'] | declares its states in its method init | use form='apply' or 'buckets'",
    ),
    "buckets without a number": (lambda: in_buckets(buckets=None), "buckets | None | from 1 to 10,000 | Write for example buckets=64"),
    "no bucket": (lambda: in_buckets(buckets=0), "buckets | 0 | from 1 to 10,000 | 1,000 to 10,000 keys"),
    "more buckets than a batch can visit": (lambda: in_buckets(buckets=10_001), "buckets | 10001 | from 1 to 10,000 | Write for example buckets=64"),
    "buckets of another form": (lambda: group_state(buckets=8), "buckets | 8 | form 'row' keeps each key's state by itself | use form='buckets'"),
    "buckets by event time": (lambda: in_buckets(time_mode="event"), "time_mode | 'event' | it sees buckets alone | form='row' for timers and late rows"),
    "buckets by the clock": (lambda: in_buckets(time_mode="processing"), "time_mode | 'processing' | it sees buckets alone | Use time_mode='none'"),
    "buckets without the columns of their state": (lambda: in_buckets(state=()), "state | () | must be known before the function runs | Declare them"),
    "buckets whose state has the key": (
        lambda: in_buckets(state=SHOP),
        "state | ['shop'] | the function gets the keys as columns of the state | Leave the keys out",
    ),
    "buckets with an initial state": (lambda: in_buckets(initial_state="before"), "initial_state | 'before' | take no initial state | Use form='row'"),
    "buckets with an event time": (lambda: in_buckets(event_time="at", output=(*SHOP, AT)), "event_time | 'at' | in time mode none | Use time_mode='event'"),
    "buckets without a budget": (
        lambda: pipeline(steps=(in_buckets(),)),
        "state.budget_rows | None | nothing evicts the state of group_state | Set the most rows",
    ),
    "buckets on the HDFS-backed store": (
        lambda: pipeline(steps=(in_buckets(),), state=State(provider="hdfs", budget_rows=1000)),
        "state.provider | 'hdfs' | only on RocksDB | Use provider='rocksdb'",
    ),
    "state after buckets": (
        lambda: pipeline(steps=(in_buckets(), deduplicate(keys=("shop",))), state=BUDGET),
        "steps | 'deduplicate' | no stateful step can follow a GroupState in buckets | Use form='row' or 'pandas'",
    ),
    "buckets of a key that is a double": (
        lambda: pipeline(topic=topic(fields=(*FIELDS, Field(name="price", type="array<double>"))), steps=(in_buckets(keys=("price",)),), state=BUDGET),
        "GroupState.keys | ['price'] | no keys of type double | Use a key of another type",
    ),
    "a form of state that there is not": (lambda: group_state(form="flat"), "form | 'flat' | should be | 'row', 'pandas', 'apply' or 'buckets'"),
    "an event time that the processor does not yield": (
        lambda: group_state(event_time="at"),
        "event_time | 'at' | not a required timestamp column | Name such a column",
    ),
    "an event time by the clock": (
        lambda: group_state(event_time="at", output=(*SHOP, AT), time_mode="processing"),
        "event_time | 'at' | in time mode processing | Use time_mode='event'",
    ),
    "state without a clock and without a budget": (
        lambda: pipeline(steps=(group_state(time_mode="none"),)),
        "state.budget_rows | None | nothing evicts the state of group_state | Set the most rows",
    ),
    "the whole result of a state of one's own": (
        lambda: pipeline(steps=(group_state(),), output_mode="complete", state=BUDGET),
        "output_mode | 'complete' | does not keep the whole result | Use append or update",
    ),
    "updates of a key that is not written": (
        lambda: pipeline(steps=(group_state(output=(AT,)),), output_mode="update"),
        "GroupState.output | ['shop'] | output lacks these keys | Add the keys to output",
    ),
    "several states a key on the HDFS-backed store": (
        lambda: pipeline(steps=(group_state(),), state=State(provider="hdfs")),
        "state.provider | 'hdfs' | only on RocksDB | Use provider='rocksdb'",
    ),
    "an event time of groups without a window": (
        lambda: aggregate(window=None, event_time="hour"),
        "event_time | 'hour' | window's last instant | Give the Aggregate",
    ),
    "a Transform in two ways": (
        lambda: Transform(where="amount > 0", sql="SELECT * FROM rows"),
        "where | ['where', 'sql'] | exactly one of where | Give one of",
    ),
    "a Transform in no way": (Transform, "where | [] | exactly one of where | Give one of"),
    "a query that reads something else": (lambda: Transform(sql="SELECT 1"), "sql | 'SELECT 1' | does not read the table | FROM rows"),
    "silence without a watermark": (
        lambda: pipeline(steps=(WHERE,), watermark_delay=None, close_after="1 hour"),
        "close_after | '1:00:00' | has none | Set watermark_delay",
    ),
    "the account switched off": (
        lambda: pipeline(state_checks_off=("unaccounted",)),
        "state_checks_off | 'unaccounted' | you cannot disable | Remove it from the list",
    ),
    "a check switched off that there is not": (
        lambda: pipeline(state_checks_off=("latenes",)),
        "state_checks_off | 'latenes' | not a state metric | Use one of",
    ),
    "a measure that counts something else": (lambda: aggregate(counts="turnover"), "counts | 'turnover' | no measure of that name | Name the measure"),
    "a count that is not measured": (lambda: aggregate(counts="visits"), "counts | 'visits' | no measure of that name | Name the measure"),
    "a measure named as a key": (lambda: aggregate(measures={"shop": "count(*)"}, counts=None), "measures | ['shop'] | already has | Rename"),
    "a measure that is no column name": (lambda: aggregate(measures={"sum(x)": "sum(amount)"}, counts=None), "measures | 'sum(x)' | a column | lower-case"),
    "a pipeline that leaves its folder": (lambda: pipeline(name="../sales"), "name | '../sales' | becomes a folder | Use lower-case letters"),
    "a name with a quote": (lambda: pipeline(name="sales'--"), 'name | "sales\'--" | becomes a folder | Use lower-case letters'),
    "a name with a newline": (lambda: pipeline(name="sales\n"), r"name | 'sales\n' | becomes a folder | Use lower-case letters"),
    "a name with a template": (lambda: Field(name="{{ x }}", type="int"), "name | '{{ x }}' | a column | Use lower-case letters"),
    "a topic of two dots": (lambda: topic(name=".."), "name | '..' | Kafka does not allow this topic name | at most 249"),
    "a topic with a newline": (lambda: topic(name="a\n"), r"name | 'a\n' | Kafka does not allow this topic name | at most 249"),
    "a type that there is not": (lambda: Field(name="x", type="long"), "type | 'long' | decodes no such type | Use one of string, smallint, int"),
    "an event time that is text": (lambda: topic(event_time="id"), "event_time | 'id' | not a required field of type timestamp | Name one of ['at']"),
    "an event time that there is not": (lambda: topic(event_time="when"), "event_time | 'when' | not a required field | Name one of ['at']"),
    "an event time that may be null": (
        lambda: topic(fields=(Field(name="at", type="timestamp", required=False),)),
        "event_time | 'at' | not a required field | Declare it so",
    ),
    "a field twice": (lambda: topic(fields=(*FIELDS, FIELDS[0])), "fields | ['id'] | each field another name | Rename, remove or add"),
    "a record without fields": (lambda: topic(fields=()), "fields | [] | at least one field | Rename, remove or add"),
    "a field with a name that Sluice takes": (
        lambda: topic(fields=(*FIELDS, Field(name="kafka", type="int"))),
        "fields | ['kafka'] | adds columns | another name",
    ),
    "a schedule that starts in no time zone": (
        lambda: Schedule(start=datetime(2026, 1, 1)),  # noqa: DTZ001 - the fault
        "start | datetime.datetime(2026 | no time zone | tzinfo=UTC",
    ),
    "a cron expression of six fields": (lambda: Schedule(cron="0 0 * * * *"), "cron | '0 0 * * * *' | this one has 6 | '0 * * * *'"),
    "a cron preset": (lambda: Schedule(cron="@daily"), "cron | '@daily' | this one has 1 | '0 * * * *'"),
    "an hour that there is not": (lambda: Schedule(cron="0 24 * * *"), "cron | '0 24 * * *' | its hour '24' | '0 * * * *'"),
    "a day that never comes": (lambda: Schedule(cron="0 0 30 2 *"), "cron | '0 0 30 2 *' | never fires | '0 * * * *'"),
    "a check that is no expectation": (lambda: Check(type="SELECT 1"), "type | 'SELECT 1' | should match | ^expect_"),
    "a check with its severity in the arguments": (
        lambda: Check(type="expect_x", kwargs={"severity": "info"}),
        "kwargs | ['severity'] | Sluice sets severity | check's field severity",
    ),
    "a severity that there is not": (lambda: Check(type="expect_x", severity="fatal"), "severity | 'fatal' | should be | 'critical'"),
    "an output check of a column that is not written": (
        lambda: pipeline(output_checks=(Check(type="expect_x", kwargs={"column": "amount"}),)),
        "output_checks: expect_x | ['amount'] | no such column | window_start, window_end, shop, sales, turnover",
    ),
    "a state check of a column that is no metric": (
        lambda: pipeline(state_checks=(Check(type="expect_x", kwargs={"column_A": "rows", "column_B": "late_share"}),)),
        "state_checks: expect_x | ['rows'] | no such column | unaccounted, rows_read",
    ),
    "a bound on what is no metric": (lambda: within("latenes", 1), "column | 'latenes' | unaccounted"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_with_field_value_reason_and_remedy(case):
    make, said = REFUSED[case]
    with pytest.raises(SpecInvalid) as refused:
        make()
    assert refused.value.code == "SPEC_INVALID"
    assert [part for part in said.split(" | ") if part not in str(refused.value)] == []


def test_a_message_names_what_was_to_be_made_and_all_that_is_wrong_with_it():
    with fails(
        SpecInvalid,
        "fields_refused",
        subject=has("'sales_hourly'"),
        fields=has("max_offsets_per_batch"),
    ):
        pipeline(about="", max_offsets_per_batch=0)


def test_a_message_is_one_line():
    with pytest.raises(SpecInvalid) as refused:
        pipeline(about="", name="a\nb", steps="no")
    assert "\n" not in str(refused.value)


def test_the_small_pipeline_itself_is_accepted():
    assert pipeline().first_stateful == 0
    assert pipeline(steps=(WHERE, deduplicate(), group_state())).first_stateful == 1
    assert pipeline(steps=(WHERE,), watermark_delay=None).first_stateful == 1


def test_unbounded_state_is_accepted_with_a_budget():
    assert pipeline(
        steps=(deduplicate(scope="for_ever"),), state=State(budget_rows=10), watermark_delay=None
    ).name


def test_a_spec_cannot_be_changed():
    made: Model = pipeline()
    with pytest.raises(ValueError, match="frozen"):
        made.name = "other"  # type: ignore[attr-defined]


durations = st.timedeltas(min_value=timedelta(milliseconds=1), max_value=timedelta(days=4000)).map(
    lambda any_: any_ - any_ % timedelta(milliseconds=1) or timedelta(milliseconds=1)
)


@given(durations)
def test_a_duration_survives_being_written_as_sparks_interval(duration):
    assert parse_duration(interval(duration)) == duration


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("1 hour 30 minutes", timedelta(minutes=90)),
        (" 2 Days ", timedelta(days=2)),
        ("1 week", timedelta(weeks=1)),
        ("250 milliseconds", timedelta(milliseconds=250)),
    ],
)
def test_a_duration_is_read_as_spark_reads_it(text, meant):
    assert parse_duration(text) == meant


@given(st.text(), st.sampled_from(list(UNITS)))
def test_no_text_makes_a_duration_fail_otherwise_than_by_refusal(text, unit):
    for given_ in (text, f"{text} {unit}"):
        try:
            made = Tumbling(size=given_).size
        except SpecInvalid:
            continue
        assert parse_duration(interval(made)) == made


numbers = st.integers(0, 62).map(str)
words = st.one_of(
    numbers,
    st.sampled_from([*cron.MONTHS, *cron.DAYS, "*", "L", "MON", "Jan", "", "-1", "5#2", "W"]),
)
ranges = st.one_of(words, st.tuples(words, words).map("-".join))
parts = st.one_of(ranges, st.tuples(ranges, numbers).map("/".join))
fields = st.lists(parts, min_size=1, max_size=2).map(",".join)


@given(st.lists(st.one_of(st.just("*"), fields), min_size=4, max_size=6).map(" ".join))
@example("0 0 29 2 *")
@example("*/5 0-6/2 1,15 jan-mar mon-fri")
@example("0 0 31 4,6 5")
def test_a_cron_expression_that_is_accepted_fires_in_airflow_too(text):
    if cron.invalid_because(text) is None:
        assert croniter(text, datetime(2026, 1, 1, tzinfo=UTC)).get_next(datetime)


@pytest.mark.parametrize(
    "text",
    ["0 * * * *", "*/15 * * * *", "30 6 * * mon-fri", "0 0 1,15 * *", "0 0 29 2 *", "0 0 31 2 0"],
)
def test_a_usual_cron_expression_is_accepted(text):
    assert Schedule(cron=text).cron == text


def test_of_a_tuple_only_what_is_wrong_in_it_is_told():
    with fails(SpecInvalid, "fields_refused", fields="steps.0"):
        pipeline(steps=("deduplicate",))
