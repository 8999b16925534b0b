"""`python -m local.settings_page`: write docs/settings.md from the code."""

from __future__ import annotations

from pathlib import Path

from spark_jobs.contract.settings import REPO, VARIABLES

PAGE = REPO / "docs" / "settings.md"
HEAD = """\
# Settings
Each is an environment variable. `make settings` writes this page from `spark_jobs/contract/settings.py`.

| variable | what it says | default |
| --- | --- | --- |
"""
TAIL = """\

The keys and the address of an object store are the AWS variables: [object-store.md](object-store.md). The stack in containers
has variables of its own: [deploy.md](deploy.md). Two more are for diagnosis and tests:

| variable | what it says |
| --- | --- |
| `SLUICE_TRACEBACK=1` | print the stack trace of an unexpected error |
| `SLUICE_FAILPOINTS="table.committed=exit"` | make a drain fail at a named place: [reliability.md](reliability.md) |
"""


def page() -> str:
    """The page's text."""
    rows = (f"| `{name}` | {about} | {_shown(default)} |\n" for name, (about, default) in VARIABLES.items())
    return HEAD + "".join(rows) + TAIL


def _shown(default: str | None) -> str:
    if default is None:
        return "none: it must be set"
    # Paths of this clone are shown as they lie in any.
    short = default.replace(str(REPO) + "/", "")
    return f"`{short}`" if short else "empty"


def main() -> None:
    Path(PAGE).write_text(page())


if __name__ == "__main__":
    main()
