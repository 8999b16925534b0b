"""Another process, to its end: what it said and how it ended, whatever that was."""

import subprocess
import sys
from typing import Any, Final

from spark_jobs.settings.installation import REPO
from tests.harness.patience import patient

PATIENCE_SECONDS = patient(120)
HEAVY: Final = (
    "pyspark", "delta", "deltalake", "pandas", "pyarrow", "great_expectations", "airflow",
    "confluent_kafka",
)  # fmt: skip
"""What a process that only reads specs loads none of."""


def ran(*words: object, check: bool = False, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run it, in the repository if `cwd` names no other folder; text in and out."""
    usual: dict[str, Any] = {"cwd": REPO, "capture_output": True, "text": True}
    usual |= {"timeout": PATIENCE_SECONDS} | how
    return subprocess.run([*map(str, words)], check=check, **usual)


def python(code, *words, check=True, **how) -> subprocess.CompletedProcess[str]:
    """Run these lines in another Python, which must end well unless one says otherwise."""
    return ran(sys.executable, "-c", code, *words, check=check, **how)
