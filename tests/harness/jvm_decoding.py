"""Decoding by sluice.decode.Decoder in a JVM of its own."""

import json
import os
import struct
import subprocess
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple, Self

import numpy as np

from local import files_jar, jvm
from spark_jobs.decode.jvm import PENDING, UNSURE, described
from spark_jobs.decode.raw_filter import CapturePolicy
from spark_jobs.decode.record_decoder import Prepared
from spark_jobs.settings.installation import REPO
from tests.harness.patience import patient

PROGRAM = Path(__file__).parent / "java" / "Decoded.java"
NO_TIME = -(2**63)
READ = {
    "UTF8String": lambda text: bytes.fromhex(text).decode(), "Short": int, "Integer": int, "Long": int, "Decimal": Decimal,
    "Boolean": {"true": True, "false": False}.__getitem__, "Double": float,
    "Float": lambda text: float(np.float32(text)),
}  # fmt: skip


Header = tuple[str, bytes | None]


class Sent(NamedTuple):
    """A record of Kafka."""

    partition: int
    offset: int
    value: bytes | None
    key: bytes | None = None
    at: int | None = None
    headers: Sequence[Header] | None = None


class Told(NamedTuple):
    """What it made of one record: times in microseconds, dates in days."""

    values: list[Any]
    kept: bool
    refused: bool


class JvmDecoding:
    """The program, which goes on until it is closed."""

    def __init__(self, classes: Path) -> None:
        sources = (files_jar.SOURCES / "sluice" / "decode").glob("*.java")
        said = compiled(classes, [*sources, PROGRAM])
        assert not said.returncode, said.stdout
        self.start(classes)

    def start(self, classes: Path) -> None:
        """The program, from this folder; it has the decoder of a `package`, and so many `seconds`
        for an answer.
        """
        path = os.pathsep.join(map(str, [classes, *_jars()]))
        self.package, self.seconds = "sluice.decode", patient(120)
        self._process = subprocess.Popen(
            [jvm.java() or "java", *jvm.SMALL, "-cp", path, "sluice.decode.Decoded"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.kill()

    def of(self, prepared: Prepared, values: Sequence[bytes | None]) -> list[Told | None]:
        """Of each value what it made of it; None where it is not sure."""
        return self.told(prepared, [Sent(3, 10 * n, value) for n, value in enumerate(values)])

    def told(
        self, prepared: Prepared, records: Sequence[Sent], capture: CapturePolicy | None = None
    ) -> list[Told | None]:
        """As `of`, of records."""
        lines = self._answer(described(prepared, capture), records).split("\n")
        return [_told(*each) for each in zip(lines, records, strict=True)]

    def noted(
        self, prepared: Prepared, records: Sequence[Sent], notes: dict[str, int | bool]
    ) -> tuple[list[list[int]], list[str], str]:
        """The numbers of each slice and the samples that tasks of Spark's note, and what they had
        noted behind that.
        """
        answer = self._answer(described(prepared, None) | {"notes": notes}, records)
        slices, _, samples = answer.partition("\n\n")
        *samples_, left = samples.split("\n")
        return [[*map(int, line.split())] for line in slices.split("\n")], samples_, left

    def _answer(self, description: dict[str, Any], records: Sequence[Sent]) -> str:
        given, found = self._process.stdin, self._process.stdout
        assert given is not None
        assert found is not None
        parts = [_framed(self.package.encode()), _framed(json.dumps(description).encode())]
        parts.append(struct.pack(">i", len(records)))
        for each in records:
            at = NO_TIME if each.at is None else each.at
            parts += [struct.pack(">iqq", each.partition, each.offset, at)]
            parts += [_framed(each.key), _framed(each.value)]
            parts.append(struct.pack(">i", -1 if each.headers is None else len(each.headers)))
            for name, value in each.headers or ():
                parts += [_framed(name.encode()), _framed(value)]
        late = Timer(self.seconds, self._process.kill)
        late.start()
        try:
            given.write(b"".join(parts))
            given.flush()
            [length] = struct.unpack(">i", found.read(4))
            return found.read(length).decode()
        except (struct.error, BrokenPipeError):
            self._process.kill()
            self._process.wait()
            raise
        finally:
            late.cancel()


def compiled(to: Path, sources: Iterable[Path], *more: str) -> subprocess.CompletedProcess[str]:
    """What the compiler says of them; their classes are in the folder `to`."""
    words = [*files_jar.compiler(REPO / "jars", _jars()), "-nowarn", *more, "-d", str(to)]
    return subprocess.run(
        [*words, *map(str, sources)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=patient(120),
    )


def _jars() -> list[Path]:
    return [*files_jar._spark_jars().glob("*.jar")]  # noqa: SLF001 - those that drains use


def _framed(given: bytes | None) -> bytes:
    return struct.pack(">i", -1) if given is None else struct.pack(">i", len(given)) + given


def _told(line: str, record: Sent) -> Told | None:
    if unsure := UNSURE.search(line):
        assert [*map(int, unsure.groups())] == [record.partition, record.offset]
        return None
    *values, kafka, reason = line.split(",")
    word, kept, *place = kafka.split()
    at = "null" if record.at is None else str(record.at)
    assert word == "kept"
    assert place == [str(record.partition), str(record.offset), at, str(record.offset + 1)]
    assert _value(reason) in (None, PENDING)
    return Told([_value(each) for each in values], kept == "true", reason != "null")


def _value(text: str) -> Any:
    kind, _, rest = text.partition(" ")
    return None if text == "null" else READ[kind](rest)
