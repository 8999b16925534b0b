"""Counted: the ids of schemas that records begin with, and how many records have each, as the task
that decodes them sees them: the driver's look before the query may see fewer records.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from spark_jobs.decode.headers import Headers
from spark_jobs.decode.schemed.registered import GUID, HEAD, header_of, schema_id

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from spark_jobs.decode.slices import Ids

MOST: Final = 100
"""Ids of one part of a batch, the most frequent: records of another format give as many as they
like.
"""


def heads_of(raw: pa.StructArray, part: str, *, in_header: bool) -> pa.Array:
    """What may be the id of each record: of its header, or in front of the part."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as below

    values = raw.field(part)
    heads = pc.binary_slice(values, 0, HEAD)
    if not in_header:
        return heads
    told = Headers(raw.field("headers")).last(header_of(part))
    of_guid = pc.equal(pc.binary_slice(told, 0, 1), b"\1")
    told = pc.if_else(of_guid, pc.binary_slice(told, 0, GUID), pc.binary_slice(told, 0, HEAD))
    return pc.if_else(pc.is_valid(values), pc.coalesce(told, heads), heads)


def counted(
    raw: pa.StructArray, part: str, begins: npt.NDArray[np.int64], *, in_header: bool
) -> list[Ids]:
    """Of each run of records that begins at `begins`, the ids of a part. `raw` has the records as
    Kafka has them.
    """
    import numpy as np  # noqa: PLC0415 - a process that only plans needs neither

    found: list[list[tuple[str, int]]] = [[] for _ in begins]
    heads = heads_of(raw, part, in_header=in_header).dictionary_encode()
    numbers = heads.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    ids = {
        number: name
        for number, head in enumerate(heads.dictionary.to_pylist())
        if (name := schema_id(head))
    }
    often = Counter(dict(zip(*map(list, np.unique(numbers, return_counts=True)), strict=True)))
    for number in [each for each, _ in often.most_common() if each in ids][:MOST]:
        name = ids[number] if part == "value" else f"{part} {ids[number]}"
        counts = np.add.reduceat((numbers == number).astype("int64"), begins).tolist()
        for ids_of_slice, count in zip(found, counts, strict=True):
            if count:
                ids_of_slice.append((name, count))
    return [tuple(each) for each in found]
