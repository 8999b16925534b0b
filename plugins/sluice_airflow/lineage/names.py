"""The names of datasets, as OpenLineage's naming conventions have them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Name(NamedTuple):
    """A dataset's name; it is unique within the namespace."""

    namespace: str
    name: str


def topic_name(brokers: str, topic: str) -> Name:
    """A topic, by the first of the brokers.

    >>> topic_name("kafka-1.example:9093, kafka-2.example:9093", "flights")
    Name(namespace='kafka://kafka-1.example:9093', name='flights')
    """
    return Name(f"kafka://{brokers.partition(',')[0].strip()}", topic)


def table_name(path: str) -> Name:
    """A table, by its folder or URL.

    >>> table_name("s3://lake/sluice/tables/departure_delays")
    Name(namespace='s3://lake', name='sluice/tables/departure_delays')
    >>> table_name("/data/root/tables/departure_delays")
    Name(namespace='file', name='/data/root/tables/departure_delays')
    """
    scheme, remote, rest = path.partition("://")
    if not remote:
        return Name("file", str(Path(path).absolute()))
    host, _, key = rest.partition("/")
    return Name(f"{scheme}://{host}", key)
