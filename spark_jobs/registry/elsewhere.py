"""Elsewhere: a pipeline whose spec names another root than before is refused: there it would begin
anew, from Kafka's earliest records, beside a table that nobody goes on with.
"""

from __future__ import annotations

from spark_jobs.errors import CheckpointForeign
from spark_jobs.registry.root_by_name import begun_in
from spark_jobs.settings.roots import root_named, root_names
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.paths import Paths


def refuse_elsewhere(spec: Pipeline, paths: Paths) -> None:
    """Raise CheckpointForeign if this root has no checkpoint of the pipeline, and another one that
    the environment declares has one. It tells nothing of roots that cannot be read.
    """
    others = [name for name in root_names() if name != spec.root]
    if not others or any(paths.above.glob("v*/identity.json")):
        return
    for name in others:
        if begun_in(name, spec.name) and (there := root_named(name)) != str(paths.root):
            raise CheckpointForeign.in_other_root(
                pipeline=spec.name,
                there=there,
                called=name,
                here=paths.root,
            )
