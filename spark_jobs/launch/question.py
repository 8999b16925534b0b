"""Question: what a command asks of Spark about records.

An application of its own, or the worker that there is, answers in the files of a folder, since a
command line holds no 10,000 places.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa

from spark_jobs.launch.warm.client import asked

if TYPE_CHECKING:
    from pydantic import BaseModel

    from spark_jobs.messages.job import Where
    from spark_jobs.settings.installation import Settings

QUESTION: Final = "question.json"
_ROWS: Final = "answer.arrow"
Answer = TypeVar("Answer")


class Failed(Exception):
    """The application has failed, and has said why; `why` is empty unless a record was it."""

    def __init__(self, status: int, why: str = "") -> None:
        super().__init__(status)
        self.status = status
        self.why = why


def ask(
    settings: Settings,
    question: BaseModel,
    job: Callable[[str], Where],
    offsets: int,
    answer: Callable[[Path], Answer],
) -> Answer:
    """What is read of the folder of a job that has ended well. Raises Failed."""
    # A worker's Python processes may end behind the run.
    with TemporaryDirectory(prefix="sluice-", ignore_cleanup_errors=True) as folder:
        put(question, Path(folder))
        if status := asked(settings, job(folder), offsets):
            raise Failed(status)
        return answer(Path(folder))


def put(question: BaseModel, folder: Path) -> None:
    """For the application."""
    (folder / QUESTION).write_text(question.model_dump_json())


def put_rows(rows: pa.Table, folder: Path) -> None:
    """For `rows_of`."""
    file = pa.OSFile(str(folder / _ROWS), "wb")
    with file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)


def rows_of(folder: Path) -> pa.Table:
    """Of the answer."""
    with pa.OSFile(str(folder / _ROWS)) as file:
        return pa.ipc.open_file(file).read_all()
