"""Readable: the overview of what can be read. A damaged file of one pipeline hides none of the
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spark_jobs.errors import OpsUnreadable
from spark_jobs.ops.history import overview
from spark_jobs.ops.shown import Overview, PipelineLine

if TYPE_CHECKING:
    from upath import UPath


def readable(root: UPath, pipelines: Sequence[str]) -> Overview:
    """The overview; whose file is damaged is found by halves. Raises OpsUnreadable for a table of
    which nothing can be read.
    """
    try:
        return overview(root, pipelines)
    except OpsUnreadable as error:
        if error.reason != "file_broken":
            raise
        if len(pipelines) == 1:
            return Overview(pipelines=(PipelineLine.unread(pipelines[0], str(error)),))
    half = len(pipelines) // 2
    parts = readable(root, pipelines[:half]), readable(root, pipelines[half:])
    return Overview(pipelines=tuple(line for part in parts for line in part.pipelines))
