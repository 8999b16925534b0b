"""Enveloped: what an envelope with its own decoder is asked for. Form.decoder names its class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from spark_jobs.decode.alone import Read
    from spark_jobs.decode.formats import Decoded, Records
    from spark_jobs.spec import Topic


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
