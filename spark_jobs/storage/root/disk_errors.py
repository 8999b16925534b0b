"""Disk errors: what delta-rs may not write or read of the root, told as RootNotWritable."""

from __future__ import annotations

import errno
import os
import re
from typing import Final

from spark_jobs.errors import RootNotWritable

_FAILED: Final = re.compile(
    r"LocalFileSystem error\W+(?:\[31m\W+\[0m )?"
    r"Unable to [a-z ]+? (?P<folder>/[^\n]*)/[^\n/]+?(?P<writes>#\d+)?"
    r"(?::|\n)[^\n]*\(os error (?P<number>\d+)\)"
)
"""A file that is written has a number at its end until it is whole."""
_OURS: Final = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}


def translate_disk_error(text: str) -> RootNotWritable | None:
    """The error that delta-rs' text tells of a local disk; None if it tells of none."""
    if not (found := _FAILED.search(text)) or int(found["number"]) not in _OURS:
        return None
    folder, error = found["folder"], os.strerror(number := int(found["number"]))
    if number == errno.EACCES and not found["writes"]:
        return RootNotWritable.not_readable(path=folder, error=error)
    return RootNotWritable.not_writable(folder=folder, error=error)
