"""Headers: what records' headers of one name have, as Arrow arrays."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


class Headers:
    """The headers of some records."""

    def __init__(self, headers: pa.Array) -> None:
        self._headers = headers
        self._has: dict[str, npt.NDArray[np.int64]] = {}

    def last(self, name: str) -> pa.Array:
        """binary: of each record the value of the last header of this name; null without one."""
        import numpy as np  # noqa: PLC0415 - a process that only plans needs neither
        import pyarrow as pa  # noqa: PLC0415 - as above

        found = np.full(len(self._headers), -1)
        here = self._at(name)
        found[self._records[here]] = here  # of several the last one stays
        return self._values.take(pa.array(found, mask=found < 0))

    def all(self, name: str) -> pa.Array:
        """list of binary: the values of all of them in their order; null without one."""
        import numpy as np  # noqa: PLC0415 - as above
        import pyarrow as pa  # noqa: PLC0415 - as above

        here = self._at(name)
        counts = np.bincount(self._records[here], minlength=len(self._headers))
        ends = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
        values = self._values.take(pa.array(here))
        return pa.ListArray.from_arrays(ends, values, mask=pa.array(counts == 0))

    @cached_property
    def _flat(self) -> pa.Array:
        return self._headers.flatten()

    @cached_property
    def _values(self) -> pa.Array:
        return self._flat.field("value")

    @cached_property
    def _records(self) -> npt.NDArray[np.int64]:
        """The number of the record that each header is of."""
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        found: npt.NDArray[np.int64] = pc.list_parent_indices(self._headers).to_numpy()
        return found

    def _at(self, name: str) -> npt.NDArray[np.int64]:
        """Which of all headers have this name."""
        import numpy as np  # noqa: PLC0415 - as above
        import pyarrow.compute as pc  # noqa: PLC0415 - as above

        if name not in self._has:
            same = pc.equal(self._flat.field("key"), name)
            self._has[name] = np.flatnonzero(same.to_numpy(zero_copy_only=False))
        return self._has[name]
