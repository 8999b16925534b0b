"""Form: one envelope, as a topic declares it by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from spark_jobs.spec.fields.field import Field
from spark_jobs.values.path import Path


class Form(NamedTuple):
    """Where an envelope has what."""

    rows: tuple[Path, ...]
    """Where the fields of part "value" begin."""
    around: tuple[Path, ...]
    """Where those of part "envelope" begin."""
    signs: tuple[Field, ...] = ()
    """What each record has, for which the topic declares no field."""
    header: Callable[[Path], str] | None = None
    """A field of part "envelope" -> its header, where headers may have these, and the value the row
    alone.
    """
    decoder: str = ""
    """`module:name` of the decoder (decode/formats.py); empty for the format's own."""
