"""The facets that are Sluice's own. OpenLineage asks for a prefix in their names."""

from __future__ import annotations

from typing import Any

import attr
from openlineage.client.generated.base import InputDatasetFacet, RunFacet

OFFSETS, RUN, CHANGE, PUBLICATION = (
    "sluice_offsets",
    "sluice_run",
    "sluice_change",
    "sluice_publication",
)
"""Their names in an event."""


@attr.define
class OffsetsFacet(InputDatasetFacet):
    """The part of the topic that was read: partition -> offset."""

    start: dict[str, int]
    """The first offset; nothing for a repair, which reads parts before its end."""
    end: dict[str, int]
    """The next offset to read."""


@attr.define
class SluiceRunFacet(RunFacet):
    """What the run did, from its report."""

    kind: str
    runId: str
    status: str
    problem: str | None
    generation: str
    batches: list[int]
    watermark: str | None
    account: dict[str, int | None]
    seconds: dict[str, float]


@attr.define
class ChangeFacet(RunFacet):
    """What a repair changes in the table, in rows and late records."""

    repairId: str
    change: dict[str, Any]


@attr.define
class PublicationFacet(RunFacet):
    """What consumers are told."""

    runId: str
    generation: str
    tableVersion: int
    tableVersionBefore: int | None
    account: dict[str, int | None]
    decisions: list[dict[str, Any]]
    repairs: list[str]
