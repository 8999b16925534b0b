"""Published: an arm whose table is what consumers see."""

from __future__ import annotations

from pathlib import Path

from bench.arms import Drained, Sluice
from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.registry import find as registry
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.published import table as published


class Published(Sluice):
    """It is published when the clock has stopped."""

    def drain(self, label: str) -> Drained:
        done = super().drain(label)
        paths = Paths(self.settings.root, registry.load(self.pipeline))
        self.table = Path(str(paths.published_table))
        assert done.report
        assert done.report.table_version is not None
        published.move(paths, done.report.table_version, refuse_dead)
        return done
