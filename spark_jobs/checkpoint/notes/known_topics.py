"""Known topics: those that a checkpoint has, of a pipeline that reads topics as they come."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from spark_jobs.spec.inputs import BETWEEN
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline


def with_known_topics(spec: Pipeline, root: str, live: Pipeline | None = None) -> Pipeline:
    """The spec with the topics of its checkpoint, in their order; before the first run of a
    rebuild, with `live`'s.
    """
    if spec.more_topics is None:
        return spec
    for each in filter(None, (spec, live)):
        # As text: who reads an identity whole asks first which spec is live.
        path = Paths(root, each).identity
        with suppress(FileNotFoundError, ValueError, KeyError):  # who reads it whole says so
            names = json.loads(path.read_text())["fingerprint"]["topic.name"]
            return spec.with_topics(names.split(BETWEEN))
    return spec
