"""The shipped pipelines on a topic of a test's own, for drains in processes of their own: many
tests share a broker.
"""

import os

from spark_jobs.contract.spec import Pipeline


def on_the_tests_topic(shipped: Pipeline) -> Pipeline:
    """The same pipeline; it reads the topic that SLUICE_TEST_TOPIC names, if that is set."""
    name = os.environ.get("SLUICE_TEST_TOPIC", shipped.topic.name)
    return shipped.model_copy(update={"topic": shipped.topic.model_copy(update={"name": name})})
