"""Brought: every format that Sluice brings. A package of yours may have others."""

from __future__ import annotations

from typing import Final

from spark_jobs.spec.formats.avro import Avro
from spark_jobs.spec.formats.compressed import Compressed
from spark_jobs.spec.formats.csv import Csv
from spark_jobs.spec.formats.format import Format, Json, Parquet, Text
from spark_jobs.spec.formats.lines import Lines
from spark_jobs.spec.formats.protobuf import Protobuf

FORMATS: Final[tuple[type[Format], ...]] = (
    Json, Text, Avro, Protobuf, Csv, Lines, Compressed, Parquet,
)  # fmt: skip
