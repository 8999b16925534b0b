"""Own: what a company gives its DAGs: tags, and arguments of all tasks, such as owner, pool, queue,
priority_weight and executor_config.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Own(NamedTuple):
    """Of the DAGs of one pipeline."""

    tags: Sequence[str] = ()
    arguments: Mapping[str, Any] = {}
    """By Airflow's names, as in default_args. They override Sluice's."""


NONE = Own()
