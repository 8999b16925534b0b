"""The shipped pipeline with a critical check that no hour passes."""

from spark_jobs.contract.checks import Check
from spark_jobs.pipelines.departure_delays.spec import SPEC as SHIPPED

SPEC = SHIPPED.model_copy(
    update={
        "name": "impossible_delays",
        "output_checks": (
            Check(
                type="expect_column_values_to_be_between",
                kwargs={"column": "flights", "max_value": 0},
                about="no hour has fewer flights than one",
            ),
        ),
    }
)
