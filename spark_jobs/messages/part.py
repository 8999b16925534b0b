"""Part: the base of what is written as JSON for other programs: reports and asset events."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A part of the report. A field that a newer Sluice added is ignored, as in stored.py, so that
    one can go back a release. mypy holds the fields that are set here (init_forbid_extra).
    """

    model_config = ConfigDict(frozen=True, extra="ignore")
