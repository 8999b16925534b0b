"""Inflated: a sample whose values were compressed one by one, as it is without that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

from spark_jobs.decode.columns.column import Wrong
from spark_jobs.decode.plain.compressed_decoder import gunzip, unzstd
from spark_jobs.spec import Compressed

if TYPE_CHECKING:
    from spark_jobs.draft.sample import Sampled

By = Literal["gzip", "zstd"]
_BEGINS: Final[tuple[tuple[By, bytes], ...]] = (
    ("gzip", b"\x1f\x8b\x08"),
    ("zstd", b"\x28\xb5\x2f\xfd"),
)
"""RFC 1952 with its one method; RFC 8878."""
MOST: Final[int] = Compressed.model_fields["at_most"].default
"""Bytes of a value: a drafted spec says nothing of them."""


def compressed_by(sample: Sequence[Sampled]) -> By | None:
    """What most values begin with."""
    valued = [each.value for each in sample if each.value]
    return next(
        (
            by
            for by, begins in _BEGINS
            if sum(value.startswith(begins) for value in valued) * 2 > len(valued)
        ),
        None,
    )


def inflated(sample: Sequence[Sampled], by: By) -> list[Sampled]:
    """What cannot be inflated stays as it is."""
    return [each._replace(value=_inflated(each.value, by)) for each in sample]


def _inflated(value: bytes | None, by: By) -> bytes | None:
    try:
        return {"gzip": gunzip, "zstd": unzstd}[by](value, MOST) if value else value
    except Wrong:
        return value
