"""Finding: one difference between two sides of a pipeline, and whom it breaks; and what of the
records a rule judges otherwise at two moments. No state depends on a rule, so a change of one is
free; what the table has by then stays until a person asks.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from spark_jobs.registry.fingerprint.topic import Classification

    Rule = Mapping[str, object]


class Whom(StrEnum):
    """Whom a change breaks."""

    state = "state"
    """The checkpoint: the next drain is refused."""
    table = "table"
    """The Delta table."""
    consumers = "consumers"
    """Who reads its rows, or its events."""
    producers = "producers"
    """Who writes the topic."""
    unknown = "unknown"
    """Nobody can tell: the commit's spec does not load, or only Spark knows its columns."""


class Finding(NamedTuple):
    """What changed; without `breaks`, it is told and breaks nobody."""

    change: str
    breaks: tuple[Whom, ...] = ()
    remedy: str = ""


RANKS: Final = ("warn", "drop", "quarantine", "refuse")
"""What becomes of a record that fails, from the loosest on."""
OUT: Final = "`sluice backfill` takes out of the rows what it leaves out"
IN: Final = {
    "drop": "`sluice backfill` brings in what it left out",
    "quarantine": "`sluice replay` merges what it kept aside",
    "refuse": "`sluice replay` merges what a person put aside",
}
UNTOLD: Final = "only the records tell whether it is stricter"


def of_rules(topic: str, was: Classification, now: Classification) -> Iterator[Finding]:
    """One for each rule that differs. They break nobody."""
    before, after = ({str(rule["name"]): rule for rule in each.rules} for each in (was, now))
    new = {name: rule for name, rule in after.items() if name not in before}
    for name, rule in before.items():
        if name in after:
            yield from _changed(f"{topic}: rule {name}", rule, after[name])
        elif same := next((n for n, each in new.items() if _judges(each) == _judges(rule)), None):
            del new[same]
            yield Finding(f"{topic}: rule {name} is named {same}: so are its counts from now on")
        else:
            yield Finding(_with(f"{topic}: rule {name} is gone", IN.get(_rank(rule))))
    for name, rule in new.items():
        is_strict = _rank(rule) != "warn"
        what = f"{topic}: rule {name} is new, and what fails it: {_rank(rule)}"
        yield Finding(_with(what, OUT if is_strict else None))


def _changed(rule: str, was: Rule, now: Rule) -> Iterator[Finding]:
    ranks = [RANKS.index(_rank(each)) for each in (was, now)]
    if ranks[0] != ranks[1]:
        then = OUT if ranks[0] < ranks[1] else IN.get(_rank(was))
        yield Finding(_with(f"{rule}: on_failure was {_rank(was)}, is {_rank(now)}", then))
    if was["sql"] != now["sql"]:
        yield Finding(f"{rule}: was `{was['sql']}`, is `{now['sql']}`: {UNTOLD}")
    if was["null"] != now["null"]:
        then = OUT if now["null"] == "fails" else IN.get(_rank(was))
        strict = None if max(ranks) == 0 else then
        yield Finding(_with(f"{rule}: null {was['null']} no more, it {now['null']}", strict))


def _with(what: str, then: str | None) -> str:
    return f"{what}: {then}" if then else what


def _rank(rule: Rule) -> str:
    return str(rule["on_failure"])


def _judges(rule: Rule) -> dict[str, object]:
    return {name: each for name, each in rule.items() if name != "name"}
