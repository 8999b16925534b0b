"""The table of docs/architecture.md: each change of the journal with its steps."""

from __future__ import annotations

from typing import Any

from local.reference.markdown import table
from spark_jobs.journal.change import Change
from spark_jobs.journal.runner import CHANGES, kind
from spark_jobs.settings.installation import REPO

PAGE = REPO / "docs" / "architecture.md"
BEGIN, END = "<!-- `make reference` writes this table. -->\n\n", "\n<!-- The end of it. -->\n"


def architecture() -> str:
    """The page with its table written anew."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = ((name, _steps(kind(name)), _killed(kind(name))) for name in sorted(CHANGES))
    return f"{before}{BEGIN}{table(('change', 'steps', 'killed within its first step'), rows)}{END}{after}"


def _steps(change: Change[Any]) -> str:
    return ", ".join(step.__name__ for step in change.steps)


def _killed(change: Change[Any]) -> str:
    if change.take_back:
        return "taken back"
    return "dropped, if that had no effect and can have none" if change.stands else "completed"
