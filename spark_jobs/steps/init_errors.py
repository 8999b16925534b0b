"""Init errors: what a processor's init or close raised where Spark loses it.

Before the first batch of a query Spark calls both once in a Python process beside the driver, to
learn the state's variables. Of an error there it says only that this worker crashed (measured on
4.2.0, TransformWithStateInPySpark). So the error's text is left in a file, which the driver reads.
"""

from __future__ import annotations

import os
import tempfile
import traceback
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyspark import TaskContext


class InitErrors:
    """The file of one run. It exists only after an error."""

    def __init__(self) -> None:
        self._path = Path(tempfile.gettempdir()) / f"sluice-{uuid.uuid4().hex}.error"

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Within the block, an error outside of a task is written to the file. In a task Spark
        tells it itself.
        """
        try:
            yield
        except Exception:
            if TaskContext.get() is None:
                with suppress(OSError), open(self._path, "x", opener=_for_owner) as file:
                    file.write(traceback.format_exc())
            raise

    def take(self) -> str:
        """The traceback of the first error, empty if there is none. Removes the file."""
        with suppress(OSError):
            text = self._path.read_text()
            self._path.unlink()
            return text
        return ""


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
