"""Compare: the pipelines of two moments, spec by spec.

Which spec of before a checkpoint was made by, its state version says: behind a rebuild that is what
was NEXT.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.contracts.finding import Finding, Whom
from spark_jobs.contracts.outputs import of_outputs
from spark_jobs.contracts.records import of_records
from spark_jobs.contracts.state import BESIDE, of_state

if TYPE_CHECKING:
    from spark_jobs.contracts.contract import Contract, Side
    from spark_jobs.registry.fingerprint.fields import Declared

GONE = Finding(
    "the pipeline is gone: nothing writes its table any more",
    (Whom.consumers,),
    "keep it until its consumers do without",
)
NEW = Finding("the pipeline is new")
DISCARD = "`sluice rebuild --discard` if it has begun; if it has switched, keep it as it was"


def compare(
    was: Mapping[str, Side], now: Mapping[str, Side], declared: Mapping[str, Declared]
) -> dict[str, list[Finding]]:
    """Pipeline -> its findings, sorted by name, without pipelines that have none. `declared` is of
    each that is there now.
    """
    found = {
        name: [*_of(was.get(name), now.get(name), declared.get(name))]
        for name in sorted(was.keys() | now.keys())
    }
    return {name: findings for name, findings in found.items() if findings}


class Broken(NamedTuple):
    """What a command that refuses the changes says."""

    changes: int
    whom: str
    pipelines: str


def broken(found: Mapping[str, list[Finding]], accepted: Collection[Whom]) -> Broken | None:
    """What breaks others than those; None if nothing does."""
    left = {
        name: [of for each in findings if (of := {*each.breaks}.difference(accepted))]
        for name, findings in found.items()
    }
    every = [of for each in left.values() for of in each]
    if not every:
        return None
    pipelines = [name for name, each in left.items() if each]
    whom = [each for each in Whom if any(each in of for of in every)]
    return Broken(len(every), ", ".join(whom), ", ".join(pipelines))


def _of(was: Side | None, now: Side | None, declared: Declared | None) -> Iterator[Finding]:
    if now is None:
        yield GONE
    elif was is None:
        yield NEW
    elif was.spec is None:
        yield Finding(f"cannot be compared: {was.error}", (Whom.unknown,), "look at it yourself")
    elif now.spec is not None and declared is not None:
        yield from _of_spec(was, now.spec, declared)
        yield from _of_next(was.spec, was.next, now)


def _of_spec(was: Side, spec: Contract, declared: Declared) -> Iterator[Finding]:
    assert was.spec is not None
    before = was.spec
    if spec.version != before.version and was.next and was.next.version == spec.version:
        before = was.next
        yield Finding(f"NEXT is SPEC now: state version {spec.version} must have switched before")
    if spec.version == before.version:
        yield from of_state(before, spec, declared)
    else:
        what = f"state.version: was {before.version}, is {spec.version}, and it never was NEXT"
        yield Finding(what, (Whom.state,), BESIDE)
    yield from of_outputs(before, spec)
    yield from of_records(before, spec)


def _of_next(spec: Contract, was: Contract | None, now: Side) -> Iterator[Finding]:
    """Of what a rebuild computes, only the switch shows: to consumers."""
    assert now.spec is not None
    versions = {each.version for each in (now.spec, now.next) if each}
    if was and was.version not in versions:
        yield Finding(f"NEXT of state version {was.version} is gone", (Whom.state,), DISCARD)
    following = now.next
    if following is None or following == was:
        return
    if was and was.version == following.version:
        yield Finding("NEXT is another one of the same state version", (Whom.state,), DISCARD)
    for each in of_outputs(spec, following):
        yield each._replace(change=f"at NEXT's switch: {each.change}")
