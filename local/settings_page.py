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


def page() -> str:
    """The page's text."""
    return HEAD + "".join(f"| `{name}` | {about} | {_shown(default)} |\n" for name, (about, default) in VARIABLES.items())


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
