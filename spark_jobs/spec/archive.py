"""Archive, as a topic declares it: a table of all its records, which outlives Kafka's retention."""

from __future__ import annotations

import hashlib
import re
from datetime import timedelta
from typing import ClassVar, Final, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec import cron
from spark_jobs.spec.duration import Duration
from spark_jobs.spec.model import Model, refuse

PREFIX: Final = "archive__"
"""Of the names of archives: DAG, checkpoint and rows in the ops tables have them."""
LEAST_KEPT: Final = timedelta(days=1)


class Archive(Model):
    """Keep every record of a topic, byte for byte, in `<root>/archive/<topic>`."""

    made_by: ClassVar = "spark_jobs.registry.archive_spec:archive_spec"
    """The function (topic, archive, root) that makes its pipeline, for `pkgutil.resolve_name`."""
    every: str = "0 */6 * * *"
    """when Airflow archives: five cron fields, UTC. Well within Kafka's retention"""
    keep: Duration | None = Described(default=timedelta(days=400), strict=False)
    """how long from its Kafka timestamp a record is kept; None: for ever. `sluice maintain` removes
    older ones
    """

    @model_validator(mode="after")
    def _possible(self) -> Self:
        wrong = cron.invalid_because(self.every)
        if wrong:
            refuse("every", self.every, wrong, "Write for example '0 */6 * * *' (each six hours)")
        if self.keep is not None and self.keep < LEAST_KEPT:
            refuse(
                "keep",
                str(self.keep),
                "an archive is for records that Kafka no longer has",
                "Write for example '400 days', or None to keep them for ever",
            )
        return self


def archive_name(topic: str) -> str:
    """The name of a topic's archive: `archive__` and the topic's place. No two topics share one.

    A place with characters that a DAG or a folder may not have gets a digest.

    >>> archive_name("flights"), archive_name("web.clicks"), archive_name("eu/flights")
    ('archive__flights', 'archive__web_clicks_5a5c29db', 'archive__eu_flights_25e68674')
    """
    if re.fullmatch(r"[a-z0-9_]{1,54}", topic):
        return PREFIX + topic
    plain = re.sub(r"[^a-z0-9_]", "_", topic.lower())[:45]
    return f"{PREFIX}{plain}_{hashlib.sha256(topic.encode()).hexdigest()[:8]}"
