"""State: what a checkpoint and its table do not survive. A run says it by the same comparison."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from spark_jobs.contracts.finding import Finding, Whom
from spark_jobs.registry.fingerprint.environment import all_changes
from spark_jobs.registry.fingerprint.record_form import why_kept

if TYPE_CHECKING:
    from spark_jobs.contracts.contract import Contract
    from spark_jobs.registry.fingerprint.fields import Declared, FieldChange

BESIDE = "write it as NEXT, and `sluice rebuild` computes it beside the live table"
DEEP = "only Spark tells its columns and types: `sluice validate --deep` beside the live table"
KEEPS_COLUMNS = (".where", ".window")
"""Fields whose expressions have no column of their own."""
ANOTHER_TOPIC = "another topic is another pipeline: give it a folder of its own"
ANOTHER_ROOT = "keep it; another root is another table, for a pipeline with another name"


def of_state(was: Contract, now: Contract, declared: Declared) -> Iterator[Finding]:
    """One for each field that stored state depends on and that differs."""
    stored, wanted = (was.fingerprint, was.environment), (now.fingerprint, now.environment)
    for change in all_changes(stored, wanted, declared):
        if change.weight == "warned":
            unknown = change.expressions and not change.field.endswith(KEEPS_COLUMNS)
            yield Finding(change.meaning, *(((Whom.unknown,), DEEP) if unknown else ()))
        elif why_kept(change.field, change.was, change.now):
            yield Finding(str(change), (Whom.state, Whom.table), BESIDE)
        else:
            yield Finding(str(change), (Whom.state,), _way(change))
    for topic, cluster in now.clusters.items():
        if cluster != (before := was.clusters.get(topic, cluster)):
            what = f"cluster of {topic}: was {before!r}, is {cluster!r}"
            yield Finding(what, (Whom.state,), ANOTHER_TOPIC)
    if was.root != now.root:
        what = f"root: was {was.root!r}, is {now.root!r}: runs are refused there"
        yield Finding(what, (Whom.state, Whom.table, Whom.consumers), ANOTHER_ROOT)
    if was.partition_by != now.partition_by:
        parts_before, after = (
            ", ".join(each) or "none" for each in (was.partition_by, now.partition_by)
        )
        what = f"layout.partition_by: was {parts_before}, is {after}"
        yield Finding(what, (Whom.table,), BESIDE)
    for name in sorted(now.layout):
        if now.layout[name] != was.layout.get(name):
            yield Finding(f"layout.{name}: was {was.layout.get(name)!r}, is {now.layout[name]!r}")


def _way(change: FieldChange) -> str:
    if change.field == "topic.name":
        return ANOTHER_TOPIC
    old, where = "", ""
    if change.field == "logic":
        old, where = repr(change.was), "compatible_logic"
    elif change.expressions:
        old, where = ", ".join(map(repr, change.expressions)), "compatible_expressions"
    return f"{BESIDE}; or, if it can use the state, add {old} to {where}" if old else BESIDE
