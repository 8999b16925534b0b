"""Parquet as the format of a folder's files, as a spec declares it."""

from __future__ import annotations

from typing import ClassVar

from spark_jobs.spec.formats.format import Json


class Parquet(Json):
    """A row of a Parquet file, made one JSON object. For Files alone."""

    kind: ClassVar[str] = "parquet"
    layout: ClassVar[str] = "spark_jobs.files.parquet:ParquetFile"
    of_files: ClassVar[bool] = True
