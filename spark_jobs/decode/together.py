"""Together: records that were decoded in parts, each in its place again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise, starmap
from typing import TYPE_CHECKING, Any

from spark_jobs.decode.formats import Decoded, Records

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Places = Sequence[int] | npt.NDArray[np.signedinteger[Any]]


def in_parts(decode: Callable[[Records], Decoded], records: Records) -> Iterator[Decoded]:
    """What a decoder makes of all records, which takes the first of them."""
    while True:
        yield (made := decode(records))
        records = records.behind(len(made.reasons))
        if not len(records.values):
            return


def whole(parts: Iterator[Decoded]) -> Decoded:
    """The parts, one behind the other, as one."""
    found = [*parts]
    ends = [*accumulate((len(part.reasons) for part in found), initial=0)]
    return together(found, [*starmap(range, pairwise(ends))])


def together(parts: Sequence[Decoded], places: Sequence[Places]) -> Decoded:
    """The parts as one. `places`: of each part the numbers of its records."""
    if len(parts) == 1:
        return parts[0]
    import numpy as np  # noqa: PLC0415 - a process that only plans needs neither
    import pyarrow as pa  # noqa: PLC0415 - as above

    order = np.empty(sum(map(len, places)), np.int64)
    order[np.concatenate([np.asarray(each, np.int64) for each in places])] = np.arange(len(order))
    columns = [
        pa.concat_arrays(arrays).take(pa.array(order))
        for arrays in zip(*(part.columns for part in parts), strict=True)
    ]
    reasons = [reason for part in parts for reason in part.reasons]
    return Decoded(columns, [reasons[at] for at in order])
