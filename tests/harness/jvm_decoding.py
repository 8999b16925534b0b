"""Decoding by sluice.decode.Decoder in a JVM of its own, without Spark."""

import json
import struct
import subprocess
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from local import files_jar, jvm
from spark_jobs.decode.jvm import PENDING, described
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


class Told(NamedTuple):
    """What it made of one record: times in microseconds, dates in days."""

    values: list[Any]
    kept: bool
    refused: bool


class JvmDecoding:
    """The program, which goes on until it is closed."""

    def __init__(self, classes: Path) -> None:
        [compiler] = (REPO / "jars" / "build").glob("ecj-*.jar")
        spark = files_jar._spark_jars()  # noqa: SLF001 - those that drains use
        path = ":".join([str(classes), *map(str, spark.glob("*.jar"))])
        java = [jvm.java() or "java", *jvm.SMALL]
        sources = [*map(str, (files_jar.SOURCES / "sluice" / "decode").glob("*.java")), PROGRAM]
        compiled = [*java, "-jar", compiler, "-nowarn", "-source", "17", "-target", "17"]
        subprocess.run(
            [*compiled, "-cp", path, "-d", classes, *sources], check=True, timeout=patient(120)
        )
        self._process = subprocess.Popen(
            [*java, "-cp", path, "sluice.decode.Decoded"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.kill()

    def of(
        self,
        prepared: Prepared,
        values: Sequence[bytes | None],
        capture: CapturePolicy | None = None,
        keys: Sequence[bytes | None] | None = None,
        sent: Sequence[int | None] | None = None,
    ) -> list[Told | None]:
        """Of each record what it made of it; None where it is not sure."""
        given, found = self._process.stdin, self._process.stdout
        assert given is not None
        assert found is not None
        count = len(values)
        parts = [
            _framed(json.dumps(described(prepared, capture)).encode()),
            struct.pack(">i", count),
        ]
        for key, value, at in zip(
            keys or [None] * count, values, sent or [None] * count, strict=True
        ):
            parts += [
                _framed(key),
                _framed(value),
                struct.pack(">q", NO_TIME if at is None else at),
            ]
        given.write(b"".join(parts))
        given.flush()
        [length] = struct.unpack(">i", found.read(4))
        return [_told(line) for line in found.read(length).decode().split("\n")]


def _framed(given: bytes | None) -> bytes:
    return struct.pack(">i", -1) if given is None else struct.pack(">i", len(given)) + given


def _told(line: str) -> Told | None:
    if line == "unsure":
        return None
    *values, kept, reason = line.split(",")
    assert _value(reason) in (None, PENDING)
    return Told([_value(each) for each in values], kept == "kept true", reason != "null")


def _value(text: str) -> Any:
    kind, _, rest = text.partition(" ")
    return None if text == "null" else READ[kind](rest)
