"""Axe: what Deque's axe-core finds wrong with a page, as the browser shows it now."""

from pathlib import Path
from typing import Any

from local.npm import FOLDER

SCRIPT = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
ABSENT = "no axe-core: python -m local.npm"
RUN = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return [found.passes.length, found.violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`))];
}"""


def violations(page: Any) -> list[str]:
    """Of all its rules, best practices too. Raises AssertionError if it looked at nothing."""
    page.evaluate(_source(SCRIPT))
    passed, found = page.evaluate(RUN)
    assert passed > 0
    return list(map(str, found))


def _source(script: Path) -> str:
    # By the debugger's protocol: the page's policy lets no other script in.
    return f"{script.read_text()};undefined"
