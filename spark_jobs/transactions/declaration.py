"""Declaration: what a spec says of its source's transactions. Without Spark or Kafka."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from spark_jobs.spec import Json
from spark_jobs.spec.model import refuse
from spark_jobs.spec.publish_at import PublishAt
from spark_jobs.spec.topic import TopicName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.spec import MoreTopics, Topic


class Transactions(PublishAt):
    """Whole transactions of the source alone."""

    ends: ClassVar = "spark_jobs.transactions.transaction_ends:TransactionEnds"
    topic: TopicName
    """Debezium's `<prefix>.transaction`, of one partition"""

    def refuse_topics(self, topics: Sequence[Topic], more: MoreTopics | None) -> None:
        for each in (*topics, *((more.like,) if more else ())):
            if each.envelope != "debezium" or not isinstance(each.format, Json):
                refuse(
                    "publish_at",
                    each.name,
                    "a change names its transaction in Debezium's envelope, read of JSON alone",
                    "Set envelope='debezium' and format=Json(), or leave out publish_at",
                )
        if self.topic in {each.name for each in topics}:
            refuse("publish_at", self.topic, "it is a topic of changes", "Name the other topic")
        if more and re.fullmatch(more.pattern, self.topic):
            refuse(
                "more_topics.pattern",
                more.pattern,
                f"{self.topic} is of it, which has no changes",
                "Make it narrower",
            )
