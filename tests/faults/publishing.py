"""What Airflow's task publish does after a drain, with a file in Airflow's place."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.registry import find as registry
from spark_jobs.runs.publish import publication
from spark_jobs.runs.publish.due import Announced
from spark_jobs.spec import Pipeline
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.paths import Paths
from tests.harness.pipelines import variables_of
from tests.harness.ran import ran

if TYPE_CHECKING:
    from tests.harness.scene import Scene

TURNS = ("shown", "shown", "fixed", "")
"""Where publishes are killed one after the other: the fourth tells, of newer verdicts too."""


def publish(paths: Paths, spec: Pipeline, events: Path) -> None:
    """What the task does; Airflow sends the event when the task has ended well."""
    sent = [json.loads(line) for line in events.read_text().splitlines()]
    names = ("number", "generation", "table_version")
    newest = Announced(*(sent[-1][name] for name in names)) if sent else Announced()
    told = publication.publish(paths, spec, newest)
    with events.open("a") as file:
        file.writelines(event.model_dump_json() + "\n" for event in told)


def in_a_process(scene: Scene, events: Path, place: str = "") -> bool:
    """Publish, killed at the failpoint if there is something to publish. Whether it was."""
    variables = {**variables_of(scene.spec), "SLUICE_FAILPOINTS": f"{place}=exit" if place else ""}
    words = [sys.executable, "-m", __name__, scene.settings.root, scene.spec.name, str(events)]
    done = ran(*words, env={**os.environ, **variables}, timeout=None)
    assert done.returncode in {0, -signal.SIGKILL}, f"publish failed by itself: {done.stderr}"
    return done.returncode != 0


def here(scene: Scene, events: Path, place: str = "") -> bool:
    """The same in this process, where the failpoint raises: what is left is the same."""
    if place:
        failpoint.ACTIVE[place] = "raise"
    try:
        publish(scene.paths, scene.spec, events)
    except failpoint.Failure:
        return True
    finally:
        failpoint.ACTIVE.pop(place, None)
    return False


if __name__ == "__main__":
    root, name, file = sys.argv[1:]
    spec = registry.load(name)
    publish(Paths(root, spec), spec, Path(file))
