"""What a draft says of its sample: which time and which key it took, by which numbers, and what it
cannot tell.
"""

import json
from datetime import timedelta

import pytest

from spark_jobs.draft.drafted import ARRIVED, draft
from spark_jobs.draft.fields import THE_KEY, THE_TIME
from spark_jobs.draft.folder import text
from spark_jobs.draft.golden import NO_COPY, NOT_LATE, golden
from spark_jobs.draft.leaf import Leaf, kind
from spark_jobs.draft.many import THE_LIST
from spark_jobs.draft.sample import shares
from spark_jobs.errors import SampleUnusable
from spark_jobs.spec import Deduplicate, Local
from tests.harness.refused import fails
from tests.unit.test_new import CLOCK, NOON, order, sampled, written


def logs(n, seen_after=2.0):
    """A line of OpenTelemetry's logs, some seconds before it was observed; two of each trace."""
    at = int((CLOCK / 1000 + n) * 10**9)
    return {
        "timeUnixNano": str(at), "observedTimeUnixNano": str(at + int(seen_after * 10**9)),
        "traceId": f"{n // 2:032x}", "body": {"stringValue": f"line {n}"},
    }  # fmt: skip


def test_of_two_times_close_to_each_other_the_event_is_at_the_first_and_the_other_is_named():
    made = draft("logs", "logs", sampled([logs(n, n % 5) for n in range(300)]))
    assert made.topic.event_time == "time_unix_nano"
    shown = made.shown["event_time"]
    assert shown.startswith("2 candidates; time_unix_nano is 0 seconds to 4 seconds before")
    assert "observed_time_unix_nano" in shown
    assert f"    # event_time: {shown}\n    # look: is it time_unix_nano" in text(made, 300)


def test_of_a_time_of_the_thing_and_one_of_its_change_the_event_is_at_the_change():
    """Also where the thing was made just before."""
    records = [
        {"order_no": n % 40, "createdAt": (NOON + timedelta(seconds=n - 3)).isoformat(),
         "paidAt": (NOON + timedelta(seconds=n)).isoformat()}
        for n in range(120)
    ]  # fmt: skip
    assert draft("x", "x", sampled(records)).topic.event_time == "paid_at"


def test_a_time_far_from_the_arrival_is_no_event_time_though_it_is_earlier():
    records = [
        {"born_at": (NOON - timedelta(days=9000)).isoformat(), "n": n,
         "at": (NOON + timedelta(seconds=n)).isoformat()}
        for n in range(90)
    ]  # fmt: skip
    made = draft("x", "x", sampled(records))
    assert made.topic.event_time == "at"
    assert "born_at" in made.shown["event_time"]


def event(n):
    at = (NOON + timedelta(seconds=n)).isoformat()
    return {"request_id": f"r-{n}", "meta": {"id": f"e-{n}"}, "at": at}


def test_of_two_unique_ids_the_one_that_is_called_id_is_the_key_and_the_other_is_named():
    made = draft("x", "x", sampled([*map(event, range(100)), event(3), event(4)]))
    assert made.spec.steps == (Deduplicate(keys=("meta_id",)),)
    said = "meta_id is unique in 100 of 100 distinct records; 2 copies are equal in all fields"
    assert made.shown["key"] == said
    assert "request_id" in made.notes[THE_KEY]
    assert f"    # key: {said}\n    # look: is it meta_id" in text(made, 102)


def test_an_id_of_what_may_have_several_records_is_no_key_though_it_is_unique_here():
    records = [logs(2 * n) for n in range(100)]
    made = draft("x", "x", sampled([*records, records[5]]))
    assert made.spec.steps == (Deduplicate(keys=("*",)),)
    assert "trace_id in 100 of 100" in made.shown["key"]
    assert "1 copies are equal in all fields" in made.shown["key"]
    assert made.notes[THE_KEY].startswith("trace_id is unique here")


def test_copies_are_found_though_each_has_its_own_time_of_arrival():
    records = [{"word": f"w{n % 70}", "n": n % 70} for n in range(140)]
    made = draft("x", "x", sampled(records))
    assert made.spec.steps == (Deduplicate(keys=("word", "n")),)
    assert made.shown["key"] == f"70 copies are equal in all fields but {ARRIVED.name}"
    lacking = [*records, *({"word": "x"} for _ in range(10))]
    assert not draft("x", "x", sampled(lacking)).tried.malformed, "a part of that key may be null"


@pytest.mark.parametrize(
    ("there", "most", "found"),
    [
        ({0: 2900, 1: 168}, 5000, {0: 2900, 1: 168}),
        ({0: 2900, 1: 168}, 1000, {0: 832, 1: 168}),
        ({0: 900, 1: 900}, 1000, {0: 500, 1: 500}),
        ({0: 0, 1: 7}, 5, {0: 0, 1: 5}),
        ({0: 9, 1: 9, 2: 9}, 2, {0: 1, 1: 1, 2: 1}),
        ({}, 5, {}),
    ],
)
def test_what_one_partition_has_not_is_read_of_the_others(there, most, found):
    assert shares(there, most) == found


def test_the_first_case_has_a_copy_of_the_sample_with_its_own_time_of_arrival():
    """So a key that holds the arrival would fail it."""
    records = sampled([event(n % 60) for n in range(90)])
    case = golden(draft("x", "x", records))
    given = [
        line for line in case.splitlines() if '"request_id": "r-0"' in line and "value" in line
    ]
    assert len(given) == 2
    assert len({line.partition('"timestamp": ')[2].partition(",")[0] for line in given}) == 2
    assert "duplicates: 1" in case


def test_what_of_a_case_is_made_and_not_of_the_sample_is_told_to_look_at():
    """Neither a copy nor a late record is in it."""
    case = golden(draft("x", "x", sampled([*map(event, range(2_000))])))
    assert [case.count(f"# look: {each}") for each in (NO_COPY, NOT_LATE)] == [1, 1]
    copies = sampled([*map(event, [*range(2_000), 3])])
    case = golden(draft("x", "x", copies))
    assert [case.count(each) for each in (NO_COPY, NOT_LATE, "late: 1")] == [0, 0, 1]


def test_whole_amounts_of_an_object_with_a_currency_may_be_cents():
    records = [event(n) | {"amount": {"value": n * 7, "currency": "EUR"}} for n in range(90)]
    assert "in cents" in draft("x", "x", sampled(records)).notes["amount_value"]


@pytest.mark.parametrize(
    ("row", "delimiter"),
    [
        ('TRK-1;{n};2026-11-28T10:00:00Z;13.{n};"Kaya, Elif"', ";"),
        ('{n},a|b,"Kaya; Elif",2026-11-28T10:00:00Z', ","),
        ("{n};2026-11-28T10:00:00Z;52,1;13,{n};1,5", ";"),
    ],
)
def test_a_delimiter_leaves_quotes_whole_and_no_comma_of_a_decimal_is_one(row, delimiter):
    rows = sampled([row.format(n=n).encode() for n in range(100, 190)])
    assert (
        draft("x", "x", [*rows, rows[0]._replace(value=b"TRK-1;7")]).topic.format.delimiter
        == delimiter
    )


def test_lines_of_records_in_a_value_are_refused_as_that():
    lines = [f"{json.dumps(event(n))}\n{json.dumps(event(n + 1))}\n".encode() for n in range(60)]
    with fails(SampleUnusable, "several_in_one", found=60, sampled=60):
        draft("x", "x", sampled(lines))


@pytest.mark.parametrize(
    ("value", "each"),
    [
        (lambda of: {"host": "h1", "resourceLogs": of}, "resourceLogs[]"),
        (lambda of: [{"scope": {"name": "app"}, "lines": of}], "[].lines[]"),
        (lambda of: of, "[]"),
    ],
)
def test_a_list_whose_elements_have_a_time_is_a_value_of_many_records(value, each):
    """Two of them with an element of another type, and one is empty."""
    records = [value([event(3 * n + m) for m in range(1 + n % 3)]) for n in range(60)]
    made = draft("x", "x", sampled([*records, value([{**event(999), "at": 7}]), value([])]))
    assert written(made) == made.spec
    assert (made.topic.each, made.topic.event_time) == (each, "at")
    assert made.spec.steps == (Deduplicate(keys=("meta_id",)),)
    assert (len(made.tried.rows), made.tried.malformed.total()) == (120, 1)
    assert "0 to 3 records" in made.notes[THE_LIST]
    outer = {field.name: field.up for field in made.topic.fields if field.up}
    assert outer == ({"host": 1} if "host" in str(records[0]) else {"scope_name": 1} if "scope" in str(records[0]) else {})  # fmt: skip
    assert "# look: a value has 0 to 3 records" in text(made, 62)


def test_a_list_within_a_record_that_has_a_time_is_one_row():
    items = [{"at": event(1)["at"], "sku": 1}]
    full = [{"id": f"o-{n}", "at": event(n)["at"], "items": items} for n in range(60)]
    made = draft("x", "x", sampled(full))
    assert (made.topic.each, made.notes["items"]) == (
        None, "each value has 1 to 1 of them, and is one row",
    )  # fmt: skip


def test_copies_that_say_when_they_were_sent_are_copies():
    """Of the same id, and of none."""

    def sent(n, again):
        at = NOON + timedelta(seconds=n)
        return {"who": f"w{n % 7}", "n": n, "at": at.isoformat(),
                "published_at": (at + timedelta(seconds=1 + 5 * again)).isoformat()}  # fmt: skip

    records = [sent(n, False) for n in range(100)] + [sent(n, True) for n in range(90, 95)]
    made = draft("x", "x", sampled(records))
    assert made.spec.steps == (Deduplicate(keys=("who", "n", "at")),)
    assert made.shown["key"] == "5 copies are equal in all fields but published_at"
    known = [each | {"event_id": f"e-{each['n']}"} for each in records]
    assert draft("x", "x", sampled(known)).spec.steps == (Deduplicate(keys=("event_id",)),)


def test_records_of_one_time_that_differ_in_one_field_alone_are_named():
    records = [{"mmsi": 1 + n % 9, "lat": n / 7, "at": order(n)["placedAt"], "by": "a"} for n in range(99)]  # fmt: skip
    twice = [each | {"by": "b"} for each in records[::20]]
    made = draft("x", "x", sampled([*records, *twice]))
    assert made.spec.steps == (Deduplicate(keys=("*",)),)
    assert "5 records equal another in all fields but by: are they copies?" in made.notes[THE_KEY]


@pytest.mark.parametrize(
    ("write", "hours", "format_", "told"),
    [
        ("%d/%b/%Y:%H:%M:%S +0000", 0, Local(pattern="%d/%b/%Y:%H:%M:%S %z"), ""),
        ("%Y-%m-%d %H:%M:%S", 0, Local(zone="UTC"), "UTC"),
        ("%d.%m.%Y %H:%M:%S", 2, Local(pattern="%d.%m.%Y %H:%M:%S", zone="Etc/GMT-2"), "2 h ahead"),
        ("%m/%d/%Y %I:%M:%S %p", 0, Local(pattern="%m/%d/%Y %I:%M:%S %p", zone="UTC"), "UTC"),
        ("%m/%d/%Y %H:%M:%S", 0, Local(pattern="%m/%d/%Y %H:%M:%S", zone="UTC"), "UTC"),
        ("%d/%m/%Y %H:%M:%S", 0, Local(pattern="%d/%m/%Y %H:%M:%S", zone="UTC"), "UTC"),
        # Behind its arrival a record may be late, too.
        ("%Y-%m-%d %H:%M:%S", -3, Local(), "no event time without"),
    ],
)
def test_a_time_in_another_form_has_its_pattern_and_the_zone_that_its_arrival_shows(
    write, hours, format_, told
):
    def record(n):
        at = NOON + timedelta(seconds=n, hours=hours)
        return {"happened": at.strftime(write), "n": n}

    made = draft("x", "x", sampled([record(n) for n in range(90)]))
    assert written(made) == made.spec
    fields = {each.name: each for each in made.topic.fields}
    assert fields["happened"].format == format_
    assert made.topic.event_time == ("happened" if hours >= 0 else ARRIVED.name)
    assert told in made.notes.get("happened", "")
    assert not made.tried.malformed
    if hours >= 0:
        assert made.tried.rows[5]["happened"] == NOON + timedelta(seconds=5)


def test_a_time_without_its_fractions_is_no_other_time():
    records = [
        {"dt": (NOON + timedelta(milliseconds=n * 700)).isoformat(), "t": int(CLOCK / 1000 + n * 0.7)}
        for n in range(90)
    ]  # fmt: skip
    assert draft("x", "x", sampled(records)).topic.event_time == "dt"


def test_a_choices_note_is_none_of_a_field_of_its_name():
    records = [logs(n) | {"event_time": None, "steps": None, "format": None} for n in range(90)]
    made = draft("x", "x", sampled(records))
    null = "null in every record of the sample"
    assert [made.notes[each] for each in ("event_time", "steps", "format")] == [null] * 3
    assert "observed" in made.notes[THE_TIME]


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (["30.11.2026", "01.12.2026"], "%d.%m.%Y"),
        (["12,50", "1.200,00"], "comma"),
        (['{"a": 1}', '{"a": [2]}'], "no path"),
        (["200", "404"], "bigint"),
        (["0.012", "3.5"], "decimal"),
    ],
)
def test_a_text_that_is_something_else_is_said(values, word):
    found = kind(Leaf(("x",), values), CLOCK)
    assert found.type == "string"
    assert word in found.note.lower() or word in found.note


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([12.5, 3, 0.99], "decimal(12,2)"),
        ([0.1234, 1.0], "decimal(12,4)"),
        ([123_456_789_012.25], "decimal(18,2)"),
        ([0.1 + 0.2, 1.5], "double"),
    ],
)
def test_money_is_a_decimal_if_its_digits_are_written_and_not_computed(values, type_):
    assert kind(Leaf(("unit_price",), values), CLOCK).type == type_
    assert kind(Leaf(("weight",), values), CLOCK).type == "double"


def test_whole_numbers_of_few_values_may_be_names_and_those_of_many_are_none():
    found = kind(Leaf(("severity",), [9, 13, 17] * 70), CLOCK)
    assert (found.type, found.note) == ("bigint", "an enumeration? 9, 13, 17")
    assert [kind(Leaf(("n",), each), CLOCK).note for each in ([7] * 210, [*range(30)] * 7)] == [
        ""
    ] * 2


@pytest.mark.parametrize(("name", "type_"), [("api_version", "string"), ("shipped", "date")])
def test_a_version_is_no_date(name, type_):
    assert kind(Leaf((name,), ["2026-02-01"] * 9), CLOCK).type == type_
