"""departure_delays with a critical check that no hour passes, in a root of its own."""

from spark_jobs.spec import Check
from tests.e2e.pipelines.departure_delays.spec import SPEC as DELAYS

SPEC = DELAYS.model_copy(
    update={
        "name": "impossible_delays",
        "root": "other",
        "output_checks": (
            Check(
                type="expect_column_values_to_be_between",
                kwargs={"column": "flights", "max_value": 0},
                about="no hour has fewer flights than one",
            ),
        ),
    }
)
