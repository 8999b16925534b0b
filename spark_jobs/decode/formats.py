"""Formats: the port of the decoders. Without Spark: a replay is planned without it.

A format's decoder is one class in one file. A task makes it once, and it decodes batch after batch.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise, starmap
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, cast

import msgspec

from spark_jobs.spec.fields.each import of_element
from spark_jobs.values.own_columns import EMPTY as NO_ELEMENT

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Field, Format, Topic
    from spark_jobs.spec.fields.place import Place

    Read = tuple[Field, pa.Array, str | None]
    """A field, its column of one record, and why the record is malformed by it."""
    Places = Sequence[int] | npt.NDArray[np.signedinteger[Any]]

EMPTY, TOMBSTONE = "the value is empty", "tombstone: the value is null"


class Records(NamedTuple):
    """Records as Kafka has them: Arrow arrays of one length."""

    values: pa.Array
    """binary: the bytes to decode. Null is a tombstone."""
    keys: pa.Array
    """binary."""
    partition: pa.Array
    """int32."""
    offset: pa.Array
    """int64."""
    timestamp: pa.Array
    """timestamp[us, UTC]; null if it is no time (source/kafka_time.py)."""
    headers: pa.Array
    """Lists of structs of key and value; a null list where none were read."""

    @classmethod
    def alone(cls, value: bytes | None, headers: Any = None) -> Self:
        """One, of which its place and time do not count."""
        return cls.of_rows([{"value": value, "partition": 0, "offset": 0, "headers": headers}])

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]]) -> Self:
        """Of rows that have records as Kafka had them: key, value, partition, offset,
        kafka_timestamp and, maybe, headers.
        """
        import pyarrow as pa  # noqa: PLC0415 - a process that only plans does not need it

        from spark_jobs.ops.schema import HEADERS  # noqa: PLC0415 - as above

        kinds = {
            "value": pa.binary(), "key": pa.binary(), "partition": pa.int32(),
            "offset": pa.int64(), "kafka_timestamp": pa.timestamp("us", "UTC"), "headers": HEADERS,
        }  # fmt: skip
        return cls(*(pa.array([row.get(n) for row in rows], kind) for n, kind in kinds.items()))

    @classmethod
    def of(cls, kafka: pa.StructArray) -> Self:
        """From the column kafka, as source/port.py has it."""
        raw = kafka.field("raw")
        return cls(
            raw.field("value"), raw.field("key"), kafka.field("partition"), kafka.field("offset"),
            kafka.field("timestamp"), raw.field("headers"),
        )  # fmt: skip

    def first(self, count: int) -> Self:
        """So many of them, and no buffer of the others."""
        return self if count == len(self.values) else self.at(range(count))

    def behind(self, count: int) -> Self:
        """Those behind so many."""
        return type(self)(*(part.slice(count) for part in self))

    def at(self, indices: Sequence[int]) -> Self:
        """Those with these numbers."""
        import pyarrow as pa  # noqa: PLC0415 - as above

        chosen = pa.array(indices, pa.int64())
        return type(self)(*(part.take(chosen) for part in self))


class Decoded(NamedTuple):
    """What a decoder makes of records."""

    columns: list[pa.Array]
    """One for each wanted field in their order, in the type of type_conversions.arrow_type. What it
    has of a malformed record does not count.
    """
    reasons: list[str | None]
    """Of each record why it is malformed: field, kind of value, rule, and none of its bytes."""


class Decoder(Protocol):
    """Bytes of one format to columns.

    One with a declared schema also has a static method `refuse(format_, topic, places)`, called
    before a run: it raises SpecInvalid where the schema does not give these fields what they are.
    One whose records have ids of schemas has `counted`, as decode/schemed/registered.py.
    """

    def __init__(
        self, format_: Any, places: Sequence[Place], wanted: Sequence[str], given: Any, /
    ) -> None:
        """For `format_`, a value of its class. All `places` are validated, the fields `wanted`
        built. `given` is what `prepare` gave.
        """

    @staticmethod
    def prepare(format_: Any, topic: Topic, root: str, settings: Settings | None, /) -> Any:
        """What a task needs besides: called in the driver, and pickled. None if nothing.

        `root` is where schemas may be kept. Without `settings`, as in a page, nothing but what is
        kept there is known.
        """

    def decode(self, records: Records, /) -> Decoded:
        """Of the first of the records, of all unless their values grow: those behind come again.

        Never raises for the bytes of a record; one for which it does is malformed (raised.py).
        What else fails, as a registry that is down, is a SluiceError.
        """


class Element(NamedTuple):
    """One record of a value."""

    number: int | None
    """From 0, in the order of the value; EMPTY of values/own_columns.py; None: the whole value."""
    value: bytes | None
    """As spec/fields/each.py has it."""
    why: str | None = None
    """Why it is malformed, whatever its fields are."""


class Elements(Protocol):
    """What takes the values of one format apart."""

    decoder: type[Decoder]
    """Of an element's bytes, as the format's is of a value's."""

    def __init__(self, topic: Topic, given: Any, /) -> None:
        """`given` is what the format's decoder has prepared."""

    def of(self, records: Records) -> Iterator[list[Element]]:
        """Of each value at least one, each when it is asked for. Never raises for a value's
        bytes.
        """


def elements_of(topic: Topic, given: object) -> Elements:
    """What takes its values apart. `given` is what its format's decoder has prepared."""
    return cast("Elements", resolve_name(topic.format.elements)(topic, given))


class Taken(NamedTuple):
    """The elements of some values."""

    records: Records
    """With an element's bytes in place of its value's."""
    parents: list[int]
    """The number of the value that each is in."""
    of: list[Element] | None
    """None where a value is one record."""

    def reason(self, number: int, told: str | None) -> str | None:
        """Why one is malformed, where its decoder says this; None of an empty list."""
        if self.of is None:
            return told
        if self.of[number].number == NO_ELEMENT:
            return None
        return self.of[number].why or (told and of_element(told))


def taken_apart(records: Records, topic: Topic, given: object) -> Taken:
    """The records of the values; themselves, where a value is one."""
    if topic.each is None:
        count = len(records.values)
        return Taken(records, [*range(count)], None)
    import pyarrow as pa  # noqa: PLC0415 - a process that only plans does not need it

    of = enumerate(elements_of(topic, given).of(records))
    found = [(number, each) for number, elements in of for each in elements]
    parents = [number for number, _ in found]
    values = pa.array([each.value for _, each in found], pa.binary())
    made = records.at(parents)._replace(values=values)
    return Taken(made, parents, [each for _, each in found])


def value_decoder(topic: Topic) -> type[Decoder]:
    """The class that decodes a record of the topic."""
    if topic.each is None:
        return decoder_class(topic.format)
    return cast("type[Decoder]", resolve_name(topic.format.elements).decoder)


def decoder_class(format_: Format) -> type[Decoder]:
    """The class that the format names."""
    return cast("type[Decoder]", resolve_name(format_.decoder))


def refuse_disagreeing(topic: Topic) -> None:
    """Raise SpecInvalid if a declared schema is none, or gives a field what it cannot be.

    Of several topics, any of them.
    """
    for each in topic.inputs:
        for format_, places in ((each.format, each.value_places), (each.key, each.key_places)):
            if refuse := getattr(decoder_class(format_), "refuse", None):
                refuse(format_, each, places)


class Enveloped(Protocol):
    """The decoder of a topic's values: envelope and row."""

    def __init__(self, topic: Topic, wanted: Sequence[str], given: object) -> None:
        """`given` is what the topic's format has prepared."""

    @abstractmethod
    def decode(self, records: Records) -> Decoded:
        """As a format's decoder does."""

    @staticmethod
    @abstractmethod
    def each(topic: Topic, given: object, record: Records) -> Iterator[Read]:
        """The declared fields of one record, each decoded alone (decode/alone.py)."""

    @staticmethod
    @abstractmethod
    def as_object(value: Any, headers: Mapping[str, bytes | None]) -> Any:
        """A value, parsed as JSON, with what its headers have at the places of the envelope."""


def enveloped(topic: Topic) -> type[Enveloped] | None:
    """The class that the topic's envelope names; None if its format reads all."""
    named = topic.form.decoder if topic.form else ""
    return cast("type[Enveloped]", resolve_name(named)) if named else None


REFUSED: Final = (msgspec.DecodeError, ValueError, RecursionError, OverflowError)


def in_parts(decode: Callable[[Records], Decoded], records: Records) -> Iterator[Decoded]:
    """What a decoder makes of all records, which takes the first of them."""
    while True:
        yield (made := decode(records))
        records = records.behind(len(made.reasons))
        if not len(records.values):
            return


def whole(parts: Iterator[Decoded]) -> Decoded:
    """The parts, one behind the other, as one."""
    found = [*parts]
    ends = [*accumulate((len(part.reasons) for part in found), initial=0)]
    return together(found, [*starmap(range, pairwise(ends))])


def together(parts: Sequence[Decoded], places: Sequence[Places]) -> Decoded:
    """The parts as one. `places`: of each part the numbers of its records."""
    if len(parts) == 1:
        return parts[0]
    import numpy as np  # noqa: PLC0415 - a process that only plans needs neither
    import pyarrow as pa  # noqa: PLC0415 - as above

    order = np.empty(sum(map(len, places)), np.int64)
    order[np.concatenate([np.asarray(each, np.int64) for each in places])] = np.arange(len(order))
    columns = [
        pa.concat_arrays(arrays).take(pa.array(order))
        for arrays in zip(*(part.columns for part in parts), strict=True)
    ]
    reasons = [reason for part in parts for reason in part.reasons]
    return Decoded(columns, [reasons[at] for at in order])


def taken(columns: Sequence[pa.Array], reasons: Sequence[str | None]) -> list[pa.Array]:
    """The columns, null where there is a reason."""
    if not any(reasons):
        return [*columns]
    import numpy as np  # noqa: PLC0415 - a process that only plans needs neither
    import pyarrow as pa  # noqa: PLC0415 - as above

    bad = np.fromiter((bool(reason) for reason in reasons), bool, len(reasons))
    indices = pa.array(np.arange(len(reasons)), mask=bad)
    return [column.take(indices) for column in columns]
