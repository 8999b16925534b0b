"""Watched: what the triggerer must know of a spec. Airflow stores it anew whenever the DAG's
processor reads spec.py; the triggerer would have the module that it has loaded when it started.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypedDict

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline, Topic


class More(TypedDict):
    """Topics that come later."""

    pattern: str
    starting: str | None


class Watched(NamedTuple):
    """As JSON has it."""

    cluster: str
    version: int
    """The state version that drains where no file of the root says another."""
    topics: dict[str, str | None]
    """Name -> since which Kafka timestamp it is read, in ISO form; by their numbers."""
    more: More | None = None
    root: str = ""
    """What the spec calls its root."""

    def starting(self, topic: str) -> datetime | None:
        """Since when this topic is read; None for its first record."""
        given = self.topics.get(topic, self.more["starting"] if self.more else None)
        return datetime.fromisoformat(given) if given else None


def watched(spec: Pipeline) -> Watched:
    """Of SPEC. NEXT reads the same topics."""
    more = spec.more_topics
    return Watched(
        spec.inputs.cluster,
        spec.state.version,
        {topic.name: _starting(topic) for topic in spec.inputs},
        More(pattern=more.pattern, starting=_starting(more.like)) if more else None,
        spec.root,
    )


def _starting(topic: Topic) -> str | None:
    return topic.starting.isoformat() if topic.starting else None
