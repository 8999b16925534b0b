"""Made by: what a batch was made by beside Kafka's records, and what an identity's last change
replaced.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.registry.fingerprint.classification import Classification, classification
from spark_jobs.registry.fingerprint.environment import Environment, environment
from spark_jobs.registry.fingerprint.fields import Declared, fingerprint
from spark_jobs.registry.fingerprint.packages import version
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import table_of


class MadeBy(BaseModel):
    """These three fields of an identity, as it explains them."""

    model_config = ConfigDict(frozen=True, extra="ignore", from_attributes=True)

    fingerprint: dict[str, object]
    environment: Environment | None = None
    classification: Classification | None = None

    def filled_in(self, now: MadeBy) -> MadeBy:
        """This, with what an older Sluice did not record, and with the versions of now: a version
        is never refused, so none need be taken back.
        """
        around = self.environment or now.environment
        if around and now.environment:
            around = around.with_unrecorded(now.environment)
            around = around.model_copy(update={"versions": now.environment.versions})
        return self.model_copy(
            update={
                "environment": around,
                "classification": self.classification or now.classification,
            }
        )


class Present:
    """All of a spec and its code that a checkpoint is held against."""

    def __init__(self, spec: Pipeline) -> None:
        """Raises SpecInvalid if a module that its logic.py imports is not valid Python."""
        self.made_by = MadeBy(
            fingerprint=fingerprint(spec, version("pyspark")),
            environment=environment(spec),
            classification=classification(spec),
        )
        """What a batch would be made by now."""
        self.declared = Declared(spec)
        self.spec = spec


class Before(BaseModel):
    """What was replaced, and the newest batches then; -1 for none."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    made_by: MadeBy
    committed: int
    """In the checkpoint."""
    written: int
    """In the table: one more than `committed` where a run ended between the two."""

    def in_force(self, paths: Paths, owner: str) -> bool:
        """Whether no batch is made since: none committed, and none in the table."""
        now = _newest(paths, owner)
        return now[0] <= self.committed and now[1] <= self.written


def replaced(made_by: MadeBy, paths: Paths, owner: str) -> Before:
    """What a change replaces now. `owner` is the application id of the table's transactions."""
    committed, written = _newest(paths, owner)
    return Before(made_by=made_by, committed=committed, written=written)


def _newest(paths: Paths, owner: str) -> tuple[int, int]:
    committed = max(Checkpoint(paths.checkpoint).committed(), default=-1)
    return committed, table_of(paths).newest_batch(owner)
