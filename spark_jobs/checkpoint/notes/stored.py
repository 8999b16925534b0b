"""Stored: what Sluice keeps as JSON beside a checkpoint, with the version of its form.

The number is raised only if an older Sluice would read the file wrongly. A field that is added
without that is ignored by an older Sluice, so that one can go back a release.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict

from spark_jobs.root.files import write_whole
from spark_jobs.root.form_version import refuse_newer

if TYPE_CHECKING:
    from upath import UPath

FORMAT = 1
"""The newest form that this Sluice knows. Files from before there was a number have form 1 too."""


class Stored(BaseModel):
    """A file beside the checkpoint."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format_version: int = FORMAT

    def write(self, path: UPath) -> None:
        """Write the file atomically."""
        ours = self.model_copy(update={"format_version": FORMAT})
        write_whole(path, ours.model_dump_json(indent=2))

    @classmethod
    def read(cls, path: UPath) -> Self:
        """The file's content.

        Raises FormatNewer, or ValueError if it does not parse.
        """
        content = json.loads(path.read_text())
        if isinstance(content, dict):
            refuse_newer(content.get("format_version", FORMAT), FORMAT, str(path))
        return cls.model_validate(content)
