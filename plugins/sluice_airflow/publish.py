"""The publish task: an asset event tells downstream DAGs that a table has a new version."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Asset, BaseOperator, Context
from airflow.sdk.exceptions import AirflowSkipException

from sluice_airflow.retries import one_line_errors
from sluice_airflow.root import root_credentials
from spark_jobs.contract import registry
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import root


def asset_of(pipeline: str) -> Asset:
    """The asset of a pipeline's table.

    Airflow does not normalise URIs whose scheme starts with x-.
    """
    return Asset(name=pipeline, uri=f"x-sluice://tables/{pipeline}", group="sluice")


class PublishOperator(BaseOperator):
    """Emits the asset event of what has passed and is not published yet, and returns its extra
    (contract/event.py).

    Skips itself if consumers know of everything that passed.
    """

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        self.pipeline = pipeline
        self.asset = asset_of(pipeline)
        super().__init__(inlets=[self.asset], outlets=[self.asset], **kwargs)

    def execute(self, context: Context) -> dict[str, Any]:
        from spark_jobs.runs.publication import publication  # noqa: PLC0415 - loads delta-rs, which parsing a DAG does not need

        with one_line_errors(self.log), root_credentials():
            # Only the root: a Kafka declaration that is wrong by now must not stop rows that passed
            # their checks.
            paths = Paths(root(), registry.load(self.pipeline))
            found = publication(paths, self.pipeline, announced(context, self.asset))
            if found is None:
                raise AirflowSkipException("consumers know of every version that has passed")
            extra = found.event.model_dump(mode="json")
            context["outlet_events"][self.asset].extra = extra
            # Airflow emits the event when the task has succeeded. If it is killed before, the next
            # publish sees that the newest event is of another version.
            found.fact.write(paths.published)
        self.log.info("published version %s of %s", extra["table_version"], extra["table"])
        return extra


NONE = -1
"""No version: Airflow has no event of the asset, or its newest was not sent by publish."""


def announced(context: Context, asset: Asset) -> int:
    """The table version of the asset's newest event, or NONE."""
    newest = list(context["inlet_events"][asset].ascending(False).limit(1))
    version = (newest[0].extra or {}).get("table_version") if newest else None
    return version if isinstance(version, int) else NONE
