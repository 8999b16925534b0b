"""A table beside the stream, as a spec declares it. What is asked of it: side/port.py."""

from __future__ import annotations

from typing import ClassVar

from spark_jobs.spec.fields.field import Name
from spark_jobs.spec.model import Model


class SideTable(Model):
    """A table that steps read beside the stream: the base of its declaration, of your own.

    It is a field of a step, so the fingerprint has its fields as the step's. Say exclude=True of
    one that only says where the table lies.
    """

    side: ClassVar[str]
    """The class (declaration, settings) that is its Side (side/port.py), as module:name."""
    name: Name
    """what the steps and the notes call it"""

    @property
    def keeps(self) -> bool:
        """Whether rows that are written keep what they have of an older version: a newer one marks
        none of them, and a verify leaves the columns out that depend on it.
        """
        return False

    @property
    def pipeline(self) -> str | None:
        """The pipeline whose table it is, if it is one's."""
        return None

    @property
    def lies(self) -> str:
        """Where another one is (side/place.py): a path, or a file's from the pipelines' folder."""
        return ""

    @property
    def columns(self) -> dict[str, str]:
        """Column of the table that is read -> its Spark SQL type, as far as it is declared."""
        return {}
