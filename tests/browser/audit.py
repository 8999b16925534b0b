"""Audit: what is wrong with a page for those who read it: by axe, and what axe does not say
(audit.js).
"""

from pathlib import Path
from typing import Any, NamedTuple

from tests.browser import axe

SCRIPT = Path(__file__).with_name("audit.js").read_text()
MOST_TABS = 2_000


class Audit(NamedTuple):
    """Each a list of what is wrong, and empty if nothing is."""

    axe: list[str]
    """Violations of its rules."""
    tables: list[str]
    """Tables without a caption, without a header, or with a header that says not of what."""
    wide: int
    """Pixels by which the page itself is wider than its window."""

    @property
    def good(self) -> bool:
        return not (self.axe or self.tables or self.wide > 0)


def audit(page: Any) -> Audit:
    """Of a page or a frame, as it is shown now."""
    return Audit(axe.violations(page), **page.evaluate(SCRIPT))


ACTIVE = "a[href], button, input, select, textarea, summary"
REACHABLE = f"""() => [...document.querySelectorAll("{ACTIVE}")]
  .filter((each) => each.tabIndex >= 0 && !each.disabled && each.checkVisibility())
  .filter((each) => each.type !== "radio" || each.checked).length"""
# The others of a group of radio buttons are reached by the arrow keys.
# Chromium also stops at a table that scrolls: so its columns are reached.
FOCUSED = """(active) => {
  const each = document.activeElement;
  if (!each || each === document.body) return null;
  window.auditSeen ??= new Map();
  if (!window.auditSeen.has(each)) window.auditSeen.set(each, window.auditSeen.size);
  const outline = getComputedStyle(each);
  const visible = outline.outlineStyle !== "none" && outline.outlineWidth !== "0px";
  return [window.auditSeen.get(each), visible, each.matches(active)];
}"""


def tabbed(page: Any) -> tuple[int, int, int]:
    """What Tab does: elements reached, those that show the focus, those there are to reach."""
    page.evaluate("() => { document.activeElement?.blur?.(); window.auditSeen = undefined; }")
    reached: dict[int, tuple[bool, bool]] = {}
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        now = page.evaluate(FOCUSED, ACTIVE)
        if now is None or now[0] in reached:
            break
        reached[now[0]] = now[1], now[2]
    found = [visible for visible, active in reached.values() if active]
    return len(found), sum(found), page.evaluate(REACHABLE)
