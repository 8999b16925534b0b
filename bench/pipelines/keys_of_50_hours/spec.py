"""keys_of_5_hours with a longer delay, and so with the ids of fifty hours in its state."""

from datetime import timedelta

from bench.pipelines.keys_of_5_hours.spec import SPEC as FIVE

SPEC = FIVE.model_copy(
    update={
        "name": "keys_of_50_hours",
        "topic": FIVE.topic.model_copy(update={"name": "keys_of_50_hours"}),
        "watermark_delay": timedelta(hours=25),
    }
)
