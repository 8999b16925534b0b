"""More topics: those that a pipeline of several topics reads as they come, by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Self

from pydantic import model_validator

from spark_jobs.spec.model import Model, refuse
from spark_jobs.spec.topic import Topic


class MoreTopics(Model):
    """Topics that are read as they come, by their names.

    New ones stand behind those that a checkpoint has, sorted, and stay where they came. Which ones
    it has, its identity says: so what is gone is missed, and whatever is computed again reads the
    same.
    """

    pattern: str
    """a regular expression of names"""
    like: Topic
    """what each gets, without an archive"""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        try:
            re.compile(self.pattern)
        except re.error as error:
            refuse("pattern", self.pattern, f"it is no regular expression: {error}", "Correct it")
        if re.fullmatch(self.pattern, "__consumer_offsets"):
            refuse("pattern", self.pattern, "Kafka's own topics are of it", "Make it narrower")
        return self

    def among(self, names: Iterable[str]) -> list[str]:
        """Those of the pattern, sorted."""
        return sorted(name for name in names if re.fullmatch(self.pattern, name))

    def topic(self, name: str) -> Topic:
        return self.like.model_copy(update={"name": name, "archive": None})
