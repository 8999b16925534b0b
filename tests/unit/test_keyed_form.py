"""What may be asked of a table that follows a key, in Airflow's form and in a request."""

import pytest

from spark_jobs.errors import RangeInvalid
from spark_jobs.messages.kind import ASKED_KINDS, BESIDE_KINDS, KEYED_KINDS, KINDS, kinds_by_key
from spark_jobs.messages.request import Request
from spark_jobs.messages.request_form import form
from spark_jobs.registry.find import load
from tests.harness.refused import fails

FORM = form("a change of any time may decide", keyed=KEYED_KINDS)


def test_its_form_has_keys_in_place_of_a_range_and_no_repair():
    assert {"keys", "reason", "approve"} <= {*FORM}
    assert not {"from", "to"} & {*FORM}
    assert (
        tuple(FORM["kind"]["enum"])
        == KEYED_KINDS
        == ("backfill", "verify", "replay", "excise", "rebuild")
    )
    assert FORM["kind"]["default"] is None
    assert "keys" not in form()


def test_of_one_that_looks_rows_up_a_repair_can_be_asked_too():
    assert kinds_by_key(load("aircraft_now")) == BESIDE_KINDS == ASKED_KINDS
    assert kinds_by_key(load("flight_events")) == ()
    assert tuple(form("why", keyed=BESIDE_KINDS)["kind"]["enum"]) == BESIDE_KINDS


@pytest.mark.parametrize("kind", KEYED_KINDS)
def test_each_kind_of_its_form_is_a_request(kind):
    given = {name: part["default"] for name, part in FORM.items() if part["default"] is not None}
    made = Request(**given | {"kind": kind} | ({"keys": "true"} if KINDS[kind].given else {}))
    assert made.span is None


@pytest.mark.parametrize(
    "asked",
    [
        {"kind": "verify"},
        {"kind": "verify", "keys": "true", "from": "2026-01-01", "to": "2026-01-02"},
        {"kind": "replay", "keys": "true"},
        {"kind": "verify", "keys": "java_method('java.lang.System', 'exit', 0) = order_id"},
        {"kind": "verify", "keys": "true; DROP TABLE t"},
    ],
)
def test_what_no_keys_can_be_is_refused(asked):
    with fails(RangeInvalid, "fields_refused"):
        Request(**asked)
