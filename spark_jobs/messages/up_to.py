"""Up to: the END of the source's transactions up to which rows are whole."""

from __future__ import annotations

from pydantic import Field as Described

from spark_jobs.messages.part import Part


class UpTo(Part):
    """An END."""

    topic: str = Described(description="the transaction topic")
    offset: int = Described(description="the END's offset in it")
    id: str = Described(description="the transaction's id")
