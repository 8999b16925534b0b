"""Variables: which of the environment belong to one run, and not to the worker.

Another value of any other one is another environment: it may be one that the JVM, a Python worker
or a pipeline's code has read already. So the worker ends then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

OF_A_RUN: Final = {
    "SLUICE_KAFKA_CONFIG",  # only the driver reads the file, at the start of each drain
    "SLUICE_NEXT",  # of a rebuild: only the driver reads it, in each run
    "SLUICE_FAILPOINTS",
    "SLUICE_FAILPOINTS_WAITING",
    # of the shell or the terminal
    "_",
    "SHLVL",
    "OLDPWD",
    "COLUMNS",
    "LINES",
    "WINDOWID",
    "TERM_SESSION_ID",
    "TMUX_PANE",
    "SSH_CLIENT",
    "SSH_CONNECTION",
    "SSH_TTY",
    "XDG_SESSION_ID",
    # of one start of a service, by systemd
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    # of the test that starts the run
    "PYTEST_CURRENT_TEST",
}
KAFKA: Final = "SLUICE_KAFKA"
"""Begins the names of what a drain's settings have of its cluster. A worker needs one to start, and
serves pipelines of several clusters.
"""
PREFIXES: Final = ("AIRFLOW_CTX_", "_AIRFLOW_", "__AIRFLOW_")
"""Of an Airflow task: its ids, and what its supervisor hands it, a token among that."""


def of_a_run(name: str) -> bool:
    """Whether this variable may differ from one run to the next."""
    return name in OF_A_RUN or name.startswith(PREFIXES)


def compared(variables: Mapping[str, str]) -> dict[str, str]:
    """The worker's variables that another drain must have alike."""
    return {n: v for n, v in of_the_worker(variables).items() if not n.startswith(KAFKA)}


def of_the_worker(variables: Mapping[str, str]) -> dict[str, str]:
    """Those that do not belong to one run."""
    return {name: value for name, value in variables.items() if not of_a_run(name)}
