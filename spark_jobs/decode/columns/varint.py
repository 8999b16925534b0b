"""Varint: numbers of seven bits a byte, the first byte the lowest, as Avro and Protobuf write them;
of many records at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    Numbers = npt.NDArray[np.uint64]
    Places = npt.NDArray[np.int64]

MORE: Final = 128
"""The bit of a byte of a number that says that more follow."""
LONGEST: Final = 10
"""Bytes of a number of 64 bits."""
GROUPS: Final = (
    (1, 0x007F007F007F007F, 0x3F803F803F803F80),
    (2, 0x00003FFF00003FFF, 0x0FFFC0000FFFC000),
    (4, 0x000000000FFFFFFF, 0x00FFFFFFF0000000),
)
"""How seven bits of each byte come together, two neighbours at a time."""


def numbers(words: Numbers, at: Places) -> tuple[Numbers, Numbers]:
    """Those that begin at these places, and how many bytes each has: more than LONGEST where it is
    none of 64 bits. `words` has of each place eight bytes.
    """
    word = words[at]
    ends = ~word & np.uint64(0x8080808080808080)
    below = (ends & -ends) - np.uint64(1)  # all bits before the first byte without MORE
    value = word & below & np.uint64(0x7F7F7F7F7F7F7F7F)
    for shift, low, high in GROUPS:
        value = (value & np.uint64(low)) | ((value >> np.uint64(shift)) & np.uint64(high))
    width = (np.bitwise_count(below) // 8 + 1).astype(np.uint64)
    long = np.flatnonzero(ends == 0)
    if len(long):
        tail = words[at[long] + 8]
        ninth, tenth = tail & 255, tail >> 8 & 255
        more = ninth >= MORE
        value[long] |= (ninth & 127) << 56 | np.where(more, tenth & 1, 0) << 63
        width[long] += np.where(more & (tenth > 1), 2, more).astype(np.uint64)
    return value, width


def signed(numbers: Numbers) -> Places:
    """Zigzag's: 0, -1, 1, -2."""
    return (numbers >> 1).astype(np.int64) ^ -(numbers & 1).astype(np.int64)
