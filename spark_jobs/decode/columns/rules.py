"""Rules: values that a field may not have, though they are of its type."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spark_jobs.values.conversions import arrow_type
from spark_jobs.values.field_types import field_type

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from spark_jobs.spec import Field

MOST: Final = 60
"""Characters of a rule in a reason."""


def broken(array: pa.Array, field: Field) -> dict[int, str]:
    """Number of the record -> which rule its value breaks: words that follow the field's name."""
    import numpy as np  # noqa: PLC0415 - a process that only plans needs it not

    found = dict[int, str]()
    for name in ("one_of", "pattern", "at_least", "at_most"):
        rule = getattr(field, name)
        if rule is None or rule == ():
            continue
        told = str(rule) if len(str(rule)) <= MOST else f"{str(rule)[:MOST]}…"
        for index in np.flatnonzero(_breaks(array, field, name)).tolist():
            found.setdefault(index, f"is a {field.type} that breaks its rule {name}={told}")
    return found


def _breaks(array: pa.Array, field: Field, name: str) -> npt.NDArray[np.bool_]:
    import pyarrow as pa  # noqa: PLC0415 - as above
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    rule = getattr(field, name)
    if name == "one_of":
        kept = pc.is_in(array, pa.array([*rule], array.type))
    elif name == "pattern":
        kept = _matches(array, rule)
    else:
        kind = field_type(field.type)
        assert kind is not None
        limit = pa.scalar(kind.parse(str(rule)), arrow_type(field.type))
        kept = (pc.greater_equal if name == "at_least" else pc.less_equal)(array, limit)
    kept = pc.or_(pc.is_null(array), pc.fill_null(kept, fill_value=False))
    result: npt.NDArray[np.bool_] = pc.invert(kept).to_numpy(zero_copy_only=False)
    return result


def _matches(array: pa.Array, pattern: str) -> pa.Array:
    """By Python's re, which the spec was checked by. Each different text once."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    match, texts = re.compile(pattern).fullmatch, array.dictionary_encode()
    good = pa.array([match(text) is not None for text in texts.dictionary.to_pylist()], pa.bool_())
    return good.take(texts.indices)
