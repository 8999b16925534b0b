"""Publish at: a declaration of where runs end, and that nothing between is published."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from spark_jobs.spec.model import Model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.spec.several import MoreTopics
    from spark_jobs.spec.topic import Topic


class PublishAt(Model):
    """Transactions, or a class of your own."""

    ends: ClassVar[str]
    """`module:name` of what makes Ends (source/port.py) of a spec and its paths."""

    @abstractmethod
    def refuse_topics(self, topics: Sequence[Topic], more: MoreTopics | None) -> None:
        """Refuse topics without such ends, by spec.model.refuse."""
