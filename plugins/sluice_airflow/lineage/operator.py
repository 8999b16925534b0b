"""What makes an operator tell of its data."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any


class TellsLineage:
    """The three methods that Airflow's OpenLineage provider looks for; it calls none of them while
    it is not configured.

    It calls them in a fork of the task's process, or in a thread. So they read what `execute` has
    left on the operator, and ask Airflow for nothing: the answer would reach the task itself.
    """

    @abstractmethod
    def lineage(self) -> Any:
        """An OperatorLineage: inputs, outputs and facets, as far as they are known by now.

        Whatever it raises, the provider logs, and sends the event without it.
        """

    def get_openlineage_facets_on_start(self) -> Any:
        """Before `execute`."""
        return self.lineage()

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:  # noqa: ARG002 - the provider passes it
        """After `execute`."""
        return self.lineage()

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> Any:  # noqa: ARG002 - as above
        """After an `execute` that raised, at each try."""
        return self.lineage()
