"""Reach: the offsets that Kafka has, today and soon, for the coverage page; asked beside it.

A page does not wait for brokers that do not answer. An answer, and the lack of one, counts for a
minute. The right to describe the topics is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from sluice_airflow.web.asked import Asked
from spark_jobs.errors import SluiceError
from spark_jobs.prove.covered import Held
from spark_jobs.settings.installation import Settings
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline

ASKED: Final = Asked[Held]("first offsets of", wait=2.0, counts=60.0)
SILENT: Final = "Kafka has not answered in {:g} seconds. Load this page again."


def held(spec: Pipeline, partitions: Sequence[int]) -> tuple[Held | None, str]:
    """What Kafka has of these partitions; None without an answer, and why."""

    def asked() -> Held:
        source = source_of(spec, Settings.of(spec))
        return Held.by(source, source.earliest(partitions), datetime.now(UTC))

    try:
        return ASKED.answer(
            f"{spec.inputs.cluster}/{spec.inputs.name} {partitions}",
            asked,
        ), ""
    except SluiceError as error:
        return None, str(error)
    except TimeoutError:
        return None, SILENT.format(ASKED.wait)
