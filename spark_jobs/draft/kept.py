"""Kept: a sample in a file, for a process that tries it."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path

from spark_jobs.draft.sample import Sampled


def write(path: Path, sample: Sequence[Sampled]) -> None:
    """A line for each record."""
    with path.open("w", encoding="utf-8") as file:
        for each in sample:
            headers = [[name, _coded(content)] for name, content in each.headers]
            line = [*each[:3], _coded(each.key), _coded(each.value), headers]
            file.write(json.dumps(line) + "\n")


def read(path: Path) -> Iterator[Sampled]:
    """In their order."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            partition, offset, timestamp, key, value, headers = json.loads(line)
            named = [(name, _bytes(content)) for name, content in headers]
            yield Sampled(partition, offset, timestamp, _bytes(key), _bytes(value), named)


def _coded(content: bytes | None) -> str | None:
    return None if content is None else b64encode(content).decode()


def _bytes(coded: str | None) -> bytes | None:
    return None if coded is None else b64decode(coded)
