"""Timely: state checks that know the time, and the weeks before."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.checks.check import (
    AGES,
    VOLUMES,
    Check,
    Clock,
    Of,
    Severity,
    within as at_most,
)
from spark_jobs.spec.duration import Duration
from spark_jobs.spec.model import Model, refuse

SPANS: Final = {VOLUMES["hour"]: timedelta(hours=1), VOLUMES["day"]: timedelta(days=1)}
DAYS_OF_VOLUME: Final = 36
"""Days of ops.batches that it looks at: a day, the same ones of four weeks, and the run before."""


class Fresh(Model):
    """What `fresh` is given."""

    within: Duration = Described(strict=False)
    by: Clock

    @model_validator(mode="after")
    def _some_time(self) -> Self:
        if self.within <= timedelta():
            refuse("within", str(self.within), "it must be more than 0", "Write '2 hours', say")
        return self


class Volume(Model):
    """What `volume` is given."""

    least: float | None
    most: float | None
    of: Of

    @model_validator(mode="after")
    def _a_bound(self) -> Self:
        least, most = self.least or 0, self.most
        if not (least > 0 if most is None else 0 <= least <= most):
            refuse(
                "least, most",
                (self.least, most),
                "they bound nothing",
                "Write least=0.5, most=2, say; None for no bound",
            )
        return self


def fresh(
    within: timedelta | str,
    *,
    by: Clock = "run",
    severity: Severity = "critical",
    about: str = "look at the producer and the topic, and at sluice show quarantine",
) -> Check:
    """A state check: a record was accepted `within` that time, such as "2 hours".

    `by`: a run accepted it since, or its event time is since. Raises SpecInvalid.
    """
    asked = Fresh(within=within, by=by)
    return at_most(AGES[asked.by], asked.within.total_seconds(), severity=severity, about=about)


def volume(
    least: float | None = 0.5,
    most: float | None = 2.0,
    *,
    of: Of = "hour",
    severity: Severity = "warning",
    about: str = "look at the producer, and at sluice show quarantine and late",
) -> Check:
    """A state check: what was accepted in the last hour or day is at least `least` and at most
    `most` of the median of the same hours of the last four weeks. Raises SpecInvalid.
    """
    asked = Volume(least=least, most=most, of=of)
    bounds = {"min_value": asked.least, "max_value": asked.most}
    return Check(
        type="expect_column_values_to_be_between",
        kwargs={"column": VOLUMES[asked.of]} | {k: v for k, v in bounds.items() if v is not None},
        severity=severity,
        about=about,
    )
