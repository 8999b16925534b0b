"""What `sluice new` drafts of topics in the shapes of real systems: the choices that a person would
have to mend, and what the draft says of those that the sample cannot tell.
"""

from datetime import UTC, datetime
from typing import NamedTuple

import pytest
import yaml

from spark_jobs.decode.schemas.registry import Registered
from spark_jobs.draft.drafted import draft
from spark_jobs.draft.folder import text
from spark_jobs.draft.golden import golden
from spark_jobs.draft.leaf import snake
from spark_jobs.spec import Latest
from tests.harness import others
from tests.harness.others import shop
from tests.harness.others.sample import sample as sampled_of
from tests.harness.schemas import avro, keep
from tests.unit.test_new import written

END = datetime(2026, 11, 30, 1, tzinfo=UTC)
RECORDS = 500
MONEY = "decimal(12,2)"


class Wanted(NamedTuple):
    """Of a topic's draft."""

    time: str
    keys: tuple[str, ...]
    types: dict[str, str]
    """Of fields that a first look gets wrong."""
    told: tuple[str, ...] = ()
    """Words of its comments, each where something is left to a person."""


ORDER = Wanted("created_at", ("order_id",), {"amount": MONEY, "customer_id": "bigint"})
WANTED = {
    "orders": ORDER, "orders-gz": ORDER, "orders-eu": ORDER, "orders-us": ORDER, "orders-compacted": ORDER,
    "clickstream": Wanted(
        "timestamp", ("event_id",), {"price": MONEY, "screen_w": "bigint", "tags": "array<string>"}, ("anonymous_id",)
    ),
    "shop.public.orders": Wanted("changed_at", ("id",), {"amount": "decimal(10,2)", "created_at": "timestamp"}),
    "shopflat.public.orders": Wanted(
        "changed_at", ("id",), {"created_at": "timestamp"}, ("type='decimal(12,2)', format='base64'",)
    ),
    "order-events": Wanted("time", ("source", "id"), {"total": MONEY}),
    "orders-avro": Wanted("created_at", ("order_id",), {"amount": "double"}, ("decimal(12,2) is exact",)),
    "orders-proto": Wanted("created_at_ms", ("order_id",), {"amount": "double"}, ("decimal(12,2) is exact",)),
    "orders-csv": Wanted("column_2", ("*",), {"column_4": MONEY}, ("no header", "perhaps the key: column_1")),
    "wiki.changes": Wanted("dt", ("meta_id",), {"length_old": "bigint", "revision_old": "bigint", "id": "bigint"}, ("timestamp",)),
    "code.events": Wanted("created_at", ("id",), {"actor_login": "string", "org_login": "string", "id": "string"}),
    "otel.log": Wanted(
        "time_unix_nano", ("*",), {"tenant": "string", "body_string_value": "string"},
        ("span_id is unique here", "attributes[key=http.status_code].value.intValue"),
    ),
    "otel.logs": Wanted(
        "time_unix_nano", ("*",), {"scope_name": "string"}, ("1 to 4 records", "resource.attributes[key=service.name]")
    ),
    "sensors": Wanted(
        "measured_at", ("*",), {"firmware": "string", "seq": "bigint"}, ("give it a name", "perhaps the key: seq")
    ),
    "payments": Wanted("created", ("id",), {"amount": "bigint", "api_version": "string", "last4": "string"}, ("object_created", "in cents")),
    "vessels": Wanted("reported_at", ("*",), {"mmsi": "bigint"}, ("all fields but station and received_at: are they copies?",)),
    "access": Wanted("time_local", ("*",), {}, ("type='bigint', format='text'", "request_id is unique here")),
    "cluster.events": Wanted("last_timestamp", ("*",), {"metadata_uid": "string"}, ("perhaps the key: resource_version",)),
    "shipments": Wanted("happened", ("event_id",), {"release": "string", "weight_kg": "double"}, ("1 h ahead of UTC",)),
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The schemas of the topics of a registry."""
    folder = tmp_path_factory.mktemp("schemas")
    protobuf = Registered("PROTOBUF", shop.PROTO, ())
    keep(folder, {shop.AVRO_ID: avro(shop.AVRO), shop.PROTOBUF_ID: protobuf})
    return str(folder)


@pytest.mark.parametrize("name", others.ALL)
def test_a_draft_is_right_by_its_sample_or_says_what_a_person_has_to_look_at(name, root):
    sample = sampled_of(others.ALL[name](), END, records=RECORDS)
    made, wanted = draft(snake(name), name, sample, root), WANTED[name]
    assert written(made) == made.spec
    types = {each.name: each.type for each in made.topic.fields}
    assert (made.topic.event_time, made.keys) == (wanted.time, wanted.keys)
    assert types | wanted.types == types
    looks = [line for line in text(made, len(sample)).splitlines() if "# look: " in line]
    assert [told for told in wanted.told if not any(told in line for line in looks)] == []
    assert made.tried.malformed.total() <= len(sample) / 100, "what is bad was made bad"
    of_late = yaml.safe_load(golden(made, root))["cases"][1:]
    late = made.spec.watermark_delay and made.disorder.late(made.spec.watermark_delay)
    assert bool(of_late) or not late, "a late record of the sample is in a case"
    [step] = made.spec.steps
    first = yaml.safe_load(golden(made, root))["cases"][0]["expect"]
    assert first["superseded" if isinstance(step, Latest) else "duplicates"] >= 1


@pytest.mark.parametrize("name", ["orders", "wiki.changes", "sensors", "shop.public.orders"])
def test_a_coarser_key_takes_one_of_a_cases_rows_for_another(name, root):
    """Each field with few values is alike in two of them."""
    made = draft("x", "x", sampled_of(others.ALL[name](), END, records=RECORDS), root)
    rows = yaml.safe_load(golden(made, root))["cases"][0]["expect"]["rows"]
    values = {name: [*map(repr, (row[name] for row in made.tried.rows))] for name in rows[0]}
    few = [name for name, found in values.items() if len({*found}) <= 5]
    assert [name for name in few if len({repr(row[name]) for row in rows}) == len(rows)] == []
    keys = rows[0] if "*" in made.keys else made.keys
    assert len({repr([row[key] for key in keys]) for row in rows}) == len(rows) == 3
