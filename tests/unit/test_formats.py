"""A format is a class of anybody's package: it decodes, travels to tasks, and is in the fingerprint."""

import pickle
from collections.abc import Sequence
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from spark_jobs.decode.formats import Decoded, Records
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.registry.fingerprint.fields import Declared, changes, fingerprint
from spark_jobs.registry.fingerprint.topic import record_form
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Compressed, Format, Json, Text, Topic
from spark_jobs.spec.fields.place import Place
from spark_jobs.spec.inputs import Topics
from tests.unit.decoding import Decoding, records
from tests.unit.specs import pipeline, topic

SPARK = "4.2.0"
GOOD = b"a|b|1767225600000000|9"


class Piped(Format):
    """Values between bars, in the order of the fields."""

    kind: ClassVar[str] = "piped"
    decoder: ClassVar[str] = "tests.unit.test_formats:PipedDecoder"
    not_rows: ClassVar[frozenset[str]] = frozenset({"address"})
    bar: str = "|"
    address: str = ""


class PipedDecoder:
    def __init__(self, format_: Piped, places: Sequence[Place], wanted: Sequence[str], given: str):
        self._bar, self._places, self._wanted, self._given = format_.bar, places, wanted, given

    @staticmethod
    def prepare(format_: Piped, topic: Topic, root: str, settings: Settings | None) -> str:  # noqa: ARG004 - the port
        return f"{topic.name} in {root}"

    def decode(self, given: Records) -> Decoded:
        rows = [(value or b"").decode().split(self._bar) for value in given.values.to_pylist()]
        reasons = [
            None if len(row) == len(self._places) else f"too few bars: {self._given}"
            for row in rows
        ]
        names = [place.field.name for place in self._places]
        columns = [[row[names.index(name) % len(row)] for row in rows] for name in self._wanted]
        return Decoded([pa.array(column) for column in columns], reasons)


def piped(**changes: Any) -> Topic:
    return topic(format=Piped(**changes))


def test_a_format_of_a_package_of_ones_own_decodes_and_its_malformed_records_are_null():
    columns, reasons = Decoding(piped(), ["at", "id"]).columns([GOOD, b"x"])
    assert reasons == [None, "too few bars: sales in memory://none"]
    assert columns == [["b", None], ["a", None]]


def test_what_a_format_prepares_in_the_driver_travels_to_the_tasks():
    prepared = pickle.loads(pickle.dumps(prepare(piped(), "/root", None)))
    found = prepared.decoder().decode(records([GOOD, b"x"]))
    assert found.reasons == [None, "too few bars: sales in /root"]


def test_what_changes_rows_is_in_the_fingerprint_and_an_address_is_not():
    made = [
        fingerprint(pipeline(topic=each), SPARK)
        for each in (topic(), piped(), piped(bar=";"), piped(address="a"))
    ]
    json, bars, other, moved = made
    assert bars == moved
    assert {each.field for each in changes(bars, other, Declared(pipeline(topic=piped())))} == {
        "topic.format.bar"
    }
    found = changes(json, bars, Declared(pipeline(topic=piped())))
    assert {each.field: each.weight for each in found} == {
        "topic.format.bar": "refused",
        "topic.format.kind": "refused",
    }


class Barred(Piped):
    """Another one with the same settings."""

    kind: ClassVar[str] = "barred"


def test_the_format_within_a_compressed_one_is_in_the_fingerprint_by_name():
    inner = [Json(), Text(), Piped(), Barred()]
    forms = [
        record_form(Topics([topic(format=Compressed(by="gzip", format=each))])) for each in inner
    ]
    assert [form.get("topic.format.format.kind") for form in forms] == [
        None, "text", "piped", "barred",
    ]  # fmt: skip
    assert record_form(Topics([topic(format=Piped())])) != record_form(
        Topics([topic(format=Barred())])
    )


@pytest.mark.parametrize(
    ("was", "now", "weights"),
    [
        (Json(), Json(), []),
        (Piped(), Piped(), ["warned"]),
        (Json(), Text(), ["refused"]),
        (Json(), Piped(), ["refused", "refused"]),
        (Piped(), Piped(bar=";"), ["refused", "warned"]),
    ],
)
def test_a_fingerprint_without_the_name_of_the_format_within_goes_on_if_its_settings_tell_it(
    was, now, weights
):
    old, new = (pipeline(topic=topic(format=Compressed(by="gzip", format=f))) for f in (was, now))
    stored = fingerprint(old, SPARK)
    stored.pop("topic.format.format.kind", None)
    assert [
        each.weight for each in changes(stored, fingerprint(new, SPARK), Declared(new))
    ] == weights
