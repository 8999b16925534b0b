"""Root by name: a pipeline's, from its name alone, also where its spec does not load.

A spec that names another root than before is refused: there its pipeline would begin anew, from
Kafka's earliest records, beside a table that nobody goes on with.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from spark_jobs.errors import CheckpointForeign, SluiceError
from spark_jobs.registry import find as registry
from spark_jobs.settings.roots import root_named, root_names
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.paths import Paths, checkpoints


def root_by_name(pipeline: str) -> str:
    """Its root. Raises SettingInvalid if nothing declares it."""
    return root_named(root_name(pipeline))


def root_name(pipeline: str) -> str:
    """What its spec calls its root. Of one that does not load, the first declared root that has its
    checkpoint, or the installation's.
    """
    try:
        return registry.load(pipeline).root
    except SluiceError:
        declared = root_names()
        has = next((name for name in declared if begun_in(name, pipeline)), "")
        return has if len(declared) > 1 else ""


def by_root(pipelines: Iterable[str]) -> dict[str, list[str]]:
    """The name of a root -> its pipelines' names."""
    found = dict[str, list[str]]()
    for pipeline in pipelines:
        found.setdefault(root_name(pipeline), []).append(pipeline)
    return found


def begun_in(name: str, pipeline: str) -> bool:
    """Whether the root of this name has a checkpoint of the pipeline, as far as it can be read."""
    with suppress(Exception):  # a store that does not answer has many
        return any(checkpoints(root_named(name), pipeline).glob("v*/identity.json"))
    return False


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
