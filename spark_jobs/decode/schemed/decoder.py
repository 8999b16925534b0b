"""Decoder of a format whose records are read by a schema: the declared one, or the registry's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spark_jobs.decode.formats import EMPTY, TOMBSTONE, Decoded, Records
from spark_jobs.decode.schemed.counted import counted
from spark_jobs.decode.schemed.objects import Objects
from spark_jobs.decode.schemed.registered import Given, Reader, Registered, header_of
from spark_jobs.decode.schemed.shape import Shape, refuse

if TYPE_CHECKING:
    from spark_jobs.decode.schemas.schema import Schema
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Avro, Protobuf, Topic
    from spark_jobs.spec.fields.place import Place


class SchemedDecoder(ABC):
    """As the port has it. `placed`: whether the places of the message are behind an id."""

    def __init__(
        self,
        places: Sequence[Place],
        wanted: Sequence[str],
        given: Given | None,
        declared: Schema,
        *,
        placed: bool = False,
    ) -> None:
        self._objects = Objects(places, wanted)
        self._registered = given and Registered(self._objects, given, self._of, placed=placed)
        self._alone = None if given else self._of(declared)

    counted = staticmethod(counted)

    @classmethod
    def refuse(cls, format_: Any, topic: Topic, places: Sequence[Place]) -> None:
        """As the port has it."""
        if shape := cls.shape(format_, topic):
            refuse(topic.name, places, shape)

    @staticmethod
    @abstractmethod
    def shape(format_: Any, topic: Topic) -> Shape | None:
        """Of the declared schema; None where the registry alone knows it."""

    @staticmethod
    def prepare(
        format_: Avro | Protobuf, topic: Topic, root: str, settings: Settings | None
    ) -> Given | None:
        """The schemas that are kept of the format's registry. An id may lack without `settings`,
        and where records had more ids than the run's look asks for.
        """
        if not format_.registry:
            return None
        from spark_jobs.decode.schemas.kept import Kept  # noqa: PLC0415 - executors keep no schemas

        part = "key" if format_ is topic.key else "value"
        header = header_of(part) if format_.id_in == "header" else ""
        kept = Kept(root, format_.registry)
        return Given(kept.schemas(), settings is not None and not kept.has_others(), header)

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        if self._registered:
            return self._registered.decode(records)
        assert self._alone
        values = records.values.to_pylist()
        read = self._alone.read([value or b"" for value in values], 0)
        for index, value in enumerate(values):
            if value is None or (not value and index in read.wrong):  # no bytes may be all defaults
                read.wrong[index] = TOMBSTONE if value is None else EMPTY
        return self._objects.columns(read, len(values))

    @abstractmethod
    def _of(self, schema: Schema) -> Reader:
        """Reads what this schema has written."""
