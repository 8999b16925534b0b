"""Reach: the first offsets that Kafka still has, for the coverage page; asked in the background.

A page does not wait for brokers that do not answer. An answer, and the lack of one, counts for a
minute. The right to describe the topics is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sluice_airflow.web.asked import Asked
from spark_jobs.errors import SluiceError
from spark_jobs.settings.installation import Settings
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline

ASKED: Final = Asked[Positions]("first offsets of", wait=2.0, counts=60.0)
SILENT: Final = "Kafka has not answered in {:g} seconds. Load this page again."


def earliest(spec: Pipeline, partitions: Sequence[int]) -> tuple[Positions | None, str]:
    """At the first records of these partitions; None without an answer, and why."""
    try:
        return ASKED.answer(
            f"{spec.inputs.cluster}/{spec.inputs.name} {partitions}",
            lambda: source_of(spec, Settings.of(spec)).earliest(partitions),
        ), ""
    except SluiceError as error:
        return None, str(error)
    except TimeoutError:
        return None, SILENT.format(ASKED.wait)
