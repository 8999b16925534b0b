"""The flow of each of several topics, and whether they add up to the run's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.messages.report import Account
from spark_jobs.messages.stages import of_read
from spark_jobs.ops.views import OF_A_TOPIC
from spark_jobs.pages.flow import Flow, Part, Stage
from spark_jobs.pages.flow_of import stage_of

if TYPE_CHECKING:
    from spark_jobs.ops.json_of_tables import RunPage, TopicLine


def flow_of_topic(topic: TopicLine) -> Flow:
    """Of one of several topics, as far as each has counts of its own."""
    start = Stage("offsets", topic.read + topic.gaps, (Part("gaps", topic.gaps),), topic.read)
    account = Account(**{name: getattr(topic, name) for name in OF_A_TOPIC})
    read = stage_of("read", of_read(account))
    return Flow("offsets", (start, read), Part("accepted", max(0, topic.accepted)))


def topics_differ(found: RunPage) -> list[str]:
    """The counts whose sum over topics is another than the run's; nothing where a batch does not
    say it by topic, or another run has accounted for one.
    """
    told = [batch for batch in found.batches if batch.account.covered]
    whole = sum(batch.account.read for batch in told) == found.account.read
    if not found.topics or not whole or any(batch.topics is None for batch in told):
        return []
    names = ("read", "accepted", "late", "malformed", "premature", "filtered")
    return [
        name
        for name in names
        if sum(getattr(topic, name) for topic in found.topics) != getattr(found.account, name)
    ]
