"""Schedule: when Airflow runs the drain."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec import cron
from spark_jobs.spec.duration import Duration, positive, zoned
from spark_jobs.spec.model import Model, refuse
from spark_jobs.spec.topic import Name

LEAST_BETWEEN: Final = timedelta(seconds=10)


class WhenData(Model):
    """Starts a run when records wait and no run is queued or at work."""

    every: Duration = Described(default=timedelta(minutes=1), strict=False)
    """how often it looks; least 10 seconds"""
    at_least: int = Described(default=1, ge=1)
    """how many offsets must wait"""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.every < LEAST_BETWEEN:
            refuse("every", self.every, "each look asks the brokers", "Write '10 seconds' or more")
        return self


class Schedule(Model):
    """When Airflow runs the drain. Times are UTC."""

    cron: str = "0 * * * *"
    """five cron fields: minute, hour, day of month, month, day of week"""
    when_data: WhenData | None = None
    """starts runs also when records wait"""
    after: Name | None = None
    """starts runs also when this pipeline has published"""
    start: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    """no run before this time"""
    execution_timeout: Duration = Described(default=timedelta(hours=6), strict=False)
    """after this, Airflow ends the drain; another try resumes"""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        wrong = cron.invalid_because(self.cron)
        if wrong:
            refuse(
                "cron",
                self.cron,
                wrong,
                "Write for example '0 * * * *' (hourly) or '30 6 * * mon-fri'",
            )
        positive("execution_timeout", self.execution_timeout)
        zoned("start", self.start)
        return self
