"""The publish task: an asset event tells downstream DAGs that a table has a new version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import airflow.sdk
from airflow.sdk import Asset, AssetAlias, BaseOperator, Context
from airflow.sdk.exceptions import AirflowSkipException

from sluice_airflow import ids, metrics
from sluice_airflow.connections.kafka import settings_of
from sluice_airflow.connections.root import root_credentials
from sluice_airflow.lineage.operator import TellsLineage
from sluice_airflow.retries import one_line_errors
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.registry import find as registry
from spark_jobs.settings.roots import root_of
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from spark_jobs.runs.publish.due import Announced

PARTITIONS = "PartitionedAtRuntime" in airflow.sdk.__all__
"""Whether this Airflow's events may have partitions: from 3.3 on."""


def asset_of(pipeline: str) -> Asset:
    """The asset of a pipeline's table.

    Airflow does not normalise URIs whose scheme starts with x-.
    """
    name = ids.drains(pipeline)
    return Asset(name=name, uri=f"x-sluice://tables/{name}", group="sluice")


def events_of(pipeline: str) -> AssetAlias:
    """The alias by which a task emits more than one event of that asset, and repairs each.

    With the asset as an outlet of two DAGs, Airflow's button Materialize would not know which one
    to run.
    """
    return AssetAlias(name=f"{ids.drains(pipeline)}-events", group="sluice")


def days_of(pipeline: str) -> Asset:
    """The asset whose partitions are the days of a pipeline's table, such as 2013-02-12.

    Its events start the DAGs that are scheduled by its partitions, a run a day, and no others.
    """
    name = ids.drains(pipeline)
    return Asset(name=f"{name}-days", uri=f"x-sluice://tables/{name}/days", group="sluice")


class PublishOperator(TellsLineage, BaseOperator):
    """Moves the published table to what has passed, emits the asset events that Airflow has not,
    and returns the newest one's extra (messages/event.py).

    Skips itself if consumers know of everything that passed. Without `materializes` the asset is
    not an outlet. With `by_day`, the asset of the table's days has an event for each day that is
    new.
    """

    def __init__(
        self,
        *,
        pipeline: str,
        materializes: bool = True,
        by_day: bool = False,
        **kwargs: Any,
    ) -> None:
        self.pipeline = pipeline
        self.asset = asset_of(pipeline)
        self.alias = events_of(pipeline)
        self.told: list[dict[str, Any]] = []
        self.days = days_of(pipeline)
        outlets = [*([self.asset] if materializes else []), self.alias]
        outlets += [self.days] if by_day and PARTITIONS else []
        super().__init__(inlets=[self.asset], outlets=outlets, **kwargs)

    def execute(self, context: Context) -> dict[str, Any]:
        from spark_jobs.runs.publish.due import show_lag  # noqa: PLC0415 - as below
        from spark_jobs.runs.publish.publication import publish  # noqa: PLC0415 - loads delta-rs, which parsing a DAG does not need

        with one_line_errors(self.log), root_credentials(self.pipeline):
            # Only the root: a Kafka declaration that is wrong by now must not stop rows that passed
            # their checks.
            spec = registry.load(self.pipeline)
            spec = live_spec(spec, where := root_of(spec))
            events = publish(Paths(where, spec), spec, announced(context, self.asset))
            if events:
                show_lag(spec, events[-1], lambda: settings_of(self.pipeline))
        if not events:
            raise AirflowSkipException("consumers know of every version that has passed")
        told = [event.model_dump(mode="json") for event in events]
        # Airflow emits them at once, with the success of the task. If the task is killed before,
        # the next publish sees that Airflow has no events of these numbers, and tells them again.
        self._tell(context, told)
        if self.days in self.outlets:
            self._tell_days(context, told)
        for event in events:
            self.log.info("published version %d of %s", event.table_version, event.table)
            metrics.of_publication(event)
        self.told = told
        return told[-1]

    def lineage(self) -> Any:
        from sluice_airflow.lineage import datasets, tasks  # noqa: PLC0415 - loads OpenLineage's client, only where it is configured

        data = datasets.of(self.pipeline)
        return tasks.of_publication(data, self.told)

    def _tell(self, context: Context, told: list[dict[str, Any]]) -> None:
        """In their order. Airflow gives an asset that is an outlet one event, always and first; an
        alias's events follow.
        """
        if self.asset in self.outlets:
            context["outlet_events"][self.asset].extra, told = told[0], told[1:]
        for extra in told:
            context["outlet_events"][self.alias].add(self.asset, extra)

    def _tell_days(self, context: Context, told: list[dict[str, Any]]) -> None:
        """An event a day, of the newest version. An alias takes no partitions, so also a repair has
        this asset itself as its outlet.
        """
        days = sorted({day for extra in told for day in extra["days"]})
        if not days:
            # Airflow gives each outlet of a task that succeeds an event. One without a partition
            # would start no DAG, and warn of each that waits for a day. It reads them at the end.
            self.outlets = [each for each in self.outlets if each != self.days]
            return
        event = context["outlet_events"][self.days]
        which = ("number", "table", "table_version", "generation")
        event.extra = {name: told[-1][name] for name in which}
        event.add_partitions(days)
        self.log.info("days that are new: %s", ", ".join(days))


RECENT = 50
"""Events to look among for the newest of publish: persons may send others for the asset."""


def announced(context: Context, asset: Asset) -> Announced:
    """The event with the highest number that publish has sent, among the newest; of those that an
    older Sluice has sent, the newest.
    """
    from spark_jobs.runs.publish.due import Announced  # noqa: PLC0415 - loads delta-rs, which parsing a DAG does not need

    found = [Announced()]
    for event in context["inlet_events"][asset].ascending(False).limit(RECENT):
        extra = event.extra or {}
        number, version = extra.get("number", 0), extra.get("table_version")
        generation = extra.get("generation")
        if isinstance(number, int) and isinstance(version, int) and isinstance(generation, str):
            found.append(Announced(number, generation, version))
    return max(found[1:] or found, key=lambda each: each.number)
