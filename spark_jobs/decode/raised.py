"""Raised: records on which a decoder raises, which by its port it never does: a fault of the
decoder. Such a record is malformed. It is kept, and a repair reads it once the decoder is mended.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Sequence
from typing import Final

from spark_jobs.decode.formats import Decoded, Records
from spark_jobs.errors import SluiceError
from spark_jobs.values.conversions import arrow_type

LOG = logging.getLogger(__name__)
MOST: Final = 1000
"""Such records of one Arrow batch of a drain, which has 10,000. Of more, the decoder is wrong, not
they: a drain that goes on would be slow, and say late what it is. A repair knows them already.
"""
OF_THE_MACHINE: Final = (SluiceError, OSError, MemoryError, ImportError)
"""What is not raised for a record's bytes. A registry's errors are SluiceErrors."""


def decoded(
    decode: Callable[[Records], Decoded],
    records: Records,
    kinds: Sequence[str],
    most: int | None = None,
) -> Decoded:
    """What the decoder makes of the records, each on which it raises malformed. `kinds` are the
    types of its columns.

    Raises what it raised if these are more than `most`.
    """
    try:
        return decode(records)
    except OF_THE_MACHINE:
        raise
    except Exception:  # noqa: BLE001 - whatever a decoder raises for bytes that it did not expect
        return _Apart(decode, kinds, most).decoded(records)


class _Apart:
    """Finds the records by halves."""

    def __init__(
        self, decode: Callable[[Records], Decoded], kinds: Sequence[str], most: int | None
    ) -> None:
        self._decode = decode
        self._kinds = kinds
        self._most = most
        self._found = 0

    def decoded(self, records: Records) -> Decoded:
        try:
            return self._decode(records)
        except OF_THE_MACHINE:
            raise
        except Exception as error:
            count = len(records.values)
            if count > 1:
                middle = count // 2
                first = self.decoded(records.at(range(middle)))
                if len(first.reasons) < middle:
                    return first
                return _joined(first, self.decoded(records.at(range(middle, count))))
            self._found += 1
            if not count or (self._most is not None and self._found > self._most):
                raise
            return self._malformed(error)

    def _malformed(self, error: Exception) -> Decoded:
        import pyarrow as pa  # noqa: PLC0415 - a process that only plans does not need it

        calls = traceback.extract_tb(error.__traceback__)
        if self._found == 1:
            # Not the error's text, which may be the record's: more people read logs than records.
            LOG.error("a decoder raised %s:\n%s", type(error).__name__, "".join(calls.format()))
        why = f"the decoder fails on it: {type(error).__name__} in {calls[-1].name}"
        return Decoded([pa.nulls(1, arrow_type(kind)) for kind in self._kinds], [why])


def _joined(first: Decoded, second: Decoded) -> Decoded:
    import pyarrow as pa  # noqa: PLC0415 - as above

    columns = zip(first.columns, second.columns, strict=True)
    return Decoded(
        [pa.concat_arrays([*both]) for both in columns], [*first.reasons, *second.reasons]
    )
