"""The timetable of the DAGs that compute ranges again."""

from __future__ import annotations

from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction
from airflow.timetables.interval import CronDataIntervalTimetable


class OnRequest(CronDataIntervalTimetable):
    """The data intervals of a cron expression for a person's backfill; none for the scheduler.

    The plugin registers it: the DAG processor, the scheduler and the API server look it up there.
    It is a timetable of Airflow's core and not of its SDK, since they read it back as this class.
    """

    # As schedule=None has it. Airflow demands the run type `scheduled` of all others.
    can_be_scheduled = False

    def next_dagrun_info(
        self,
        *,
        last_automated_data_interval: DataInterval | None,
        restriction: TimeRestriction,
    ) -> DagRunInfo | None:
        """The next interval of a backfill, for which Airflow asks with catchup; the scheduler asks
        with the DAG's own, which is False.
        """
        if not restriction.catchup:
            return None
        return super().next_dagrun_info(
            last_automated_data_interval=last_automated_data_interval, restriction=restriction
        )
