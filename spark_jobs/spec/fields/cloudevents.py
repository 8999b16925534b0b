"""CloudEvents: events whose attributes are in the value, or in headers (CloudEvents 1.0.2)."""

from __future__ import annotations

from typing import Final

from spark_jobs.spec.fields.field import Field
from spark_jobs.spec.fields.form import Form
from spark_jobs.values.path import Path

CONTENT_TYPE: Final = "content-type"
SIGN: Final = "ce_specversion"
"""The header that an event in binary mode has."""
_SPEC: Final = Field(name="specversion", type="string", part="envelope", one_of=("1.0",))


def _header(path: Path) -> str:
    return CONTENT_TYPE if path == ("datacontenttype",) else f"ce_{path[0]}"


FORM: Final = Form(
    (("data",),),
    ((),),
    (_SPEC,),
    _header,
    "spark_jobs.decode.envelopes.cloudevents:CloudEventsDecoder",
)
