"""Lag: shown by Kafka's tools too, if SLUICE_LAG_GROUP says so. What is published stays published
whatever Kafka answers.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from spark_jobs.settings.installation import lag_group

if TYPE_CHECKING:
    from collections.abc import Callable

    from spark_jobs.messages.event import Event
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline

LOG = logging.getLogger(__name__)


def show_lag(spec: Pipeline, event: Event, settings: Callable[[], Settings]) -> None:
    """Commit the offsets of the newest event to the pipeline's group. A failure is a warning."""
    ends = {int(partition): end for partition, end in event.offsets_end.items()}
    prefix = lag_group()
    if not prefix or not ends:
        return
    from spark_jobs.source.lag_group import commit  # noqa: PLC0415 - Kafka's client, which publish alone does not need

    try:
        commit(settings(), spec, ends, f"{prefix}.{spec.name}")
    except Exception as error:  # noqa: BLE001 - it is for eyes alone
        LOG.warning("%s: Kafka's tools show an old lag: %s", spec.name, error)
