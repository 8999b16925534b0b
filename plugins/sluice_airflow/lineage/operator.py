"""What makes an operator tell of its data."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any


class TellsLineage:
    """The method that Airflow's OpenLineage provider looks for. It takes it for a task's end too,
    where there is none for that, and does not call it while it is not configured.

    It calls it in a fork of the task's process, or in a thread. So it reads what `execute` has left
    on the operator, and asks Airflow for nothing: the answer would reach the task itself.
    """

    @abstractmethod
    def lineage(self) -> Any:
        """An OperatorLineage: inputs, outputs and facets, as far as they are known by now.

        Whatever it raises, the provider logs, and sends the event without it.
        """

    def get_openlineage_facets_on_start(self) -> Any:
        """Before `execute`, after it, and after one that raised, at each try."""
        return self.lineage()
