"""Request: what a person asks of a repair, and how what is wrong is said."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pendulum
import pytest

from spark_jobs.errors import RangeInvalid
from spark_jobs.messages.kind import ASKED_KINDS
from spark_jobs.messages.request import LONGEST, MEANINGS, Request
from spark_jobs.messages.request_form import form
from spark_jobs.registry import find as registry
from spark_jobs.repair.planner import plan_repair
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Ranges
from spark_jobs.values.spans import Span
from tests.harness.refused import fails, has

FIRST, SECOND = (datetime(2013, 2, day, tzinfo=UTC) for day in (1, 2))


def test_the_default_is_a_repair_of_whatever_needs_one():
    request = Request()
    assert (request.kind, request.span, request.approve, request.note) == ("repair", None, None, "")


@pytest.mark.parametrize(
    "start",
    [
        FIRST,
        pendulum.datetime(2013, 2, 1),
        "2013-02-01",
        "2013-02-01T00:00Z",
        "2013-02-01T00:00:00.000Z",
        "2013-02-01T01:00:00+01:00",
        " 2013-02-01 00:00+00:00 ",
    ],
    ids=str,
)
def test_a_time_is_read_in_utc_however_it_is_written(start):
    request = Request(**{"kind": "backfill", "from": start, "to": SECOND})
    assert request.span == Span(FIRST, SECOND)
    assert type(request.start) is datetime
    assert request.start.tzinfo is UTC


def test_a_request_that_was_written_down_is_read_again():
    request = Request(kind="verify", start=FIRST, end=SECOND, note="why", who="ada")
    assert Request(**request.model_dump(mode="json")) == request
    assert Request.model_validate_json(request.model_dump_json()) == request


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "drain"}, "kind is 'drain': input should be 'repair', 'backfill'"),
        ({"kind": "backfill"}, "from is None: backfill computes a given range. Give from and to"),
        ({"kind": "verify"}, "from is None: verify computes a given range"),
        ({"from": FIRST}, "to is None: from is given without it. Give both, or leave out from"),
        ({"to": FIRST}, "from is None: to is given without it. Give both, or leave out to"),
        ({"from": SECOND, "to": FIRST}, "to is '2013-02-01T00:00:00Z': it is not after from"),
        ({"from": FIRST, "to": FIRST}, "it is not after from"),
        ({"from": "2013-02-01T00:00", "to": SECOND}, "from is '2013-02-01T00:00': it has no time"),
        ({"from": FIRST.replace(tzinfo=None), "to": SECOND}, "it has no time zone. Write a day"),
        ({"from": "yesterday", "to": SECOND}, "from is 'yesterday': it is not a time"),
        ({"from": 5, "to": SECOND}, "from is 5: it is not a time"),
        ({"from": "2013-02-30", "to": SECOND}, "from is '2013-02-30': it is not a time"),
        ({"from": "0001-01-01T00:00+14:00", "to": SECOND}, "outside of the years"),
        ({"from": FIRST, "to": "9999-01-01"}, "to is '9999-01-01T00:00:00Z': it is in the future"),
        ({"from": "0213-02-01", "to": SECOND}, "more than 3,653. Correct the year"),
        ({"from": "0213-02-01", "to": "0213-02-02"}, "no range is before 1700. Correct the year"),
        ({"approve": "perhaps"}, "approve is 'perhaps': input should be 'unexplained', 'always'"),
        ({"most_records": 0}, "most_records is 0: input should be greater than or equal to 1"),
        ({"note": "x" * 501}, "string should have at most 500 characters"),
        ({"form": FIRST}, "unknown field 'form'"),
        ({"reason": "x"}, "reason is 'x': repair uses no record in quarantine by its reason"),
        ({"kind": "replay", "reason": " x"}, "reason is ' x': it begins or ends with a space"),
        ({"kind": "rebuild", "from": FIRST, "to": SECOND}, "a rebuild computes the whole table"),
        ({"kind": "rebuild", "approve": "never"}, "so a person always approves it"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_with_the_field_the_value_and_what_would_be_right(given, said):
    with pytest.raises(RangeInvalid) as refused:
        Request(**given)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ({"start": "2013-02-01T00:00", "end": SECOND}, "from is '2013-02-01T00:00': it has no"),
        ({"start": FIRST, "end": "tomorrow"}, "to is 'tomorrow': it is not a time"),
    ],
    ids=["start", "end"],
)
def test_an_end_that_code_gives_by_its_own_name_is_called_as_persons_call_it(ends, said):
    with fails(RangeInvalid, "fields_refused"):
        Request(kind="backfill", **ends)


def test_of_a_field_that_there_is_not_the_names_are_told_that_persons_use():
    given: dict[str, Any] = {"zzz": 1}
    with fails(RangeInvalid, "fields_refused", fields="zzz"):
        Request(**given)


def test_all_that_is_wrong_is_said_at_once():
    with fails(RangeInvalid, "fields_refused", fields=has("most_records")):
        Request(**{"kind": "x", "from": "y", "most_records": -1})


def test_ten_years_are_allowed_and_a_moment_more_is_not():
    assert Request(start=SECOND - LONGEST, end=SECOND).span
    with fails(RangeInvalid, "fields_refused", fields="from"):
        Request(start=SECOND - LONGEST - timedelta(microseconds=1), end=SECOND)


def test_each_kind_has_its_meaning_in_the_form_and_begins_with_its_name():
    assert tuple(MEANINGS) == ASKED_KINDS
    assert all(text.startswith(f"{kind}: ") for kind, text in MEANINGS.items())


def test_the_form_takes_null_for_what_need_not_be_filled_in():
    schemas = form()
    assert all("anyOf" not in schema for schema in schemas.values())
    assert schemas["approve"]["enum"] == [None, "unexplained", "always", "never"]
    assert schemas["from"]["type"] == ["null", "string"]
    assert schemas["from"]["format"] == "date-time", "the form then has a calendar"
    assert schemas["most_records"]["type"] == "integer"


@pytest.mark.parametrize("kind", ["repair", "replay"])
@pytest.mark.parametrize("asked", ["never", "unexplained"])
def test_a_request_takes_no_person_away_whom_the_spec_always_asks(kind, asked):
    wanted = Request(kind=kind, approve=asked)
    with fails(RangeInvalid, "approve_given"):
        wanted.approval("always")


@pytest.mark.parametrize(
    ("asked", "of_the_spec", "then"),
    [
        (None, "always", "always"),
        ("always", "always", "always"),
        ("always", "never", "always"),
        ("never", "unexplained", "never"),
        (None, "unexplained", "unexplained"),
    ],
)
def test_a_request_may_ask_for_more(asked, of_the_spec, then):
    assert Request(approve=asked).approval(of_the_spec) == then


def test_a_plan_asks_for_that_before_anything_else(tmp_path):
    settings = Settings(str(tmp_path), "127.0.0.1:1", Path("jars"), "local[1]", "1g")
    spec = registry.load("departure_delays")
    spec = spec.model_copy(update={"ranges": Ranges(approve="always")})
    with fails(RangeInvalid, "approve_given"):
        plan_repair(spec, settings, Request(approve="never"))
