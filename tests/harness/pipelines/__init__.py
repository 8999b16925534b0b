"""The shipped pipelines as a test's scene has them: its topic, its stores, its checks."""

import os

from spark_jobs.spec import Pipeline


def variables_of(spec: Pipeline) -> dict[str, str]:
    """The environment in which a process finds a scene's pipeline below."""
    return {
        "SLUICE_TEST_TOPIC": spec.topic.name,
        "SLUICE_TEST_STORES": str(spec.state.shuffle_partitions),
        "SLUICE_TEST_CHECKED": "yes" if spec.output_checks else "",
    }


def on_the_tests_topic(shipped: Pipeline) -> Pipeline:
    """The same pipeline, changed as far as those variables are set."""
    name = os.environ.get("SLUICE_TEST_TOPIC", shipped.topic.name)
    stores = int(os.environ.get("SLUICE_TEST_STORES", shipped.state.shuffle_partitions))
    checked = os.environ.get("SLUICE_TEST_CHECKED", "yes")
    return shipped.model_copy(
        update={
            "topic": shipped.topic.model_copy(update={"name": name}),
            "state": shipped.state.model_copy(update={"shuffle_partitions": stores}),
            "output_checks": shipped.output_checks if checked else (),
        }
    )
