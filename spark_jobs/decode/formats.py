"""Formats: the decoder of each format. Without Spark: a replay is planned without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from spark_jobs.contract.topic import Format, Topic
from spark_jobs.decode.json_decoder import JsonDecoder


class Decoder(Protocol):
    """Bytes of one format to columns."""

    def columns(
        self, values: Sequence[bytes | None], /
    ) -> tuple[Sequence[Sequence[Any]], Sequence[str | None]]:
        """For each wanted field the values, and for each record why it is malformed, or None."""


DECODERS: Final[dict[Format, Callable[[Topic, Sequence[str]], Decoder]]] = {"json": JsonDecoder}
"""Topic and names of the wanted fields -> decoder. A new format is a line here, and one in Format
(contract/topic.py).
"""
