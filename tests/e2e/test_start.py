"""What makes a drain's JVM start sooner is in use: the JVM leaves an archive that does not fit it alone, in silence."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from spark_jobs.contract.settings import Settings
from spark_jobs.launch import submit

PATIENCE_SECONDS = 180
ARCHIVED = "source: shared objects file (top)"


def test_the_class_data_archive_fits_the_class_path_of_a_run(tmp_path: Path) -> None:
    settings = Settings.from_environment()._replace(
        kafka="127.0.0.1:1", root=str(tmp_path / "root")
    )
    # One log a process: spark-submit starts a JVM of its own to find its command.
    variables = {"JAVA_TOOL_OPTIONS": f"-Xlog:class+load:file={tmp_path}/classes-%p.log"}
    subprocess.run(
        submit.explain_command(settings, "departure_delays"),
        env={**os.environ, **submit.environment(settings), **variables},
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    logs = (log.read_text() for log in tmp_path.glob("classes-*.log"))
    archived = [line for log in logs for line in log.splitlines() if ARCHIVED in line]
    for name in (
        "io.delta.sql.DeltaSparkSessionExtension",
        "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    ):
        assert any(f" {name} " in line for line in archived), (
            f"{name} was not read from {submit.archive(settings)}"
        )
    assert len(archived) > 5000
