"""Up to: the end up to which rows are whole, where a spec asks for whole ones (publish_at)."""

from __future__ import annotations

from pydantic import Field as Described

from spark_jobs.messages.part import Part


class UpTo(Part):
    """An end, as another topic tells it."""

    topic: str = Described(description="that topic")
    offset: int = Described(description="its offset there")
    id: str = Described(description="its id")
