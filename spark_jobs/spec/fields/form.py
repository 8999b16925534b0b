"""Form: one envelope, as a topic declares it by its name; and that of CloudEvents 1.0.2, whose
attributes are in the value, or in headers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

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


CONTENT_TYPE: Final = "content-type"
SIGN: Final = "ce_specversion"
"""The header that an event in binary mode has."""
_SPEC: Final = Field(name="specversion", type="string", part="envelope", one_of=("1.0",))


def _header(path: Path) -> str:
    return CONTENT_TYPE if path == ("datacontenttype",) else f"ce_{path[0]}"


CLOUDEVENTS: Final = Form(
    (("data",),),
    ((),),
    (_SPEC,),
    _header,
    "spark_jobs.decode.envelopes.cloudevents:CloudEventsDecoder",
)
