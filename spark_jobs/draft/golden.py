"""Golden: a drafted pipeline's first cases (proof/cases.py), of the sample's own records: what the
decoder of every run makes of them.

They can fail. One has a copy, with its own time of arrival, or an older change behind a newer one:
another key leaves other rows. One has records on both sides of the watermark: with another delay
another one is late.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from itertools import groupby
from typing import Any, Final, NamedTuple

from spark_jobs.draft.drafted import Draft
from spark_jobs.draft.sample import Sampled
from spark_jobs.draft.tried import Tried, tried
from spark_jobs.source.kafka_time import is_time
from spark_jobs.spec.analysis.late_rule import MILLISECOND, micros, of_rows
from spark_jobs.values.times import at_milliseconds

GOOD: Final = 3
BAD: Final = 2
"""Records, each of another reason."""
TRIED: Final = 100
"""Of the good records: each of them alone."""
LARGEST: Final = 4_000
"""Bytes of a record that a person reads."""
NO_COPY: Final = "the sample has no copy of a record: here one is given twice"
NOT_LATE: Final = "no record of the sample came late: here an older one comes behind the newest"
_UNPRINTABLE: Final = re.compile(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Case(NamedTuple):
    """A case, as it is written."""

    name: str
    given: Sequence[Sequence[Sampled]]
    """Batches, each of which is drained."""
    rows: Sequence[Sampled]
    """Those that are in the table."""
    expect: dict[str, Any]
    """Word of `expect` -> what it says."""
    look: str = ""
    """What in it is made, and not of the sample."""


def golden(draft: Draft, root: str = "") -> str | None:
    """The text of tests.yaml; None where no record fits. `root` has the schemas of a registry."""
    first = _of_the_sample(draft, root)
    if first is None:
        return None
    late = _of_late(draft, root)
    lines = [
        "# Records of the topic, and what comes of them. It has their values: look at them.",
        "cases:",
        *(line for case in (first, *late) for line in _written(case, draft, root)),
    ]
    return "\n".join(lines) + "\n"


def _written(case: Case, draft: Draft, root: str) -> Iterator[str]:
    yield f"  - name: {case.name}"
    if case.look:
        yield f"    # look: {case.look}"
    yield "    given:"
    for batch in case.given:
        yield "      -"
        yield from (f"        - {_record(_as_written(each))}" for each in batch)
    yield "    expect:"
    yield "      rows:"
    found = tried(draft.topic, [_as_written(each) for each in case.rows], root)
    yield from (f"        - {flow(row)}" for row in found.rows)
    yield from (f"      {word}: {flow(said)}" for word, said in case.expect.items())


def _of_the_sample(draft: Draft, root: str) -> Case | None:
    """Some records; one of them again, or of a Latest an older change of it."""
    known = _known(draft)
    first = next((each for each in known[:TRIED] if _usable(draft, root, each)), None)
    if first is None:
        return None
    [step] = draft.spec.steps
    again, expect, look = list[Sampled](), dict[str, Any](), ""
    if step.balance.drops_duplicates:
        first, copy = next(_pairs(draft, root), (first, first))
        again, expect = [copy.record], {"duplicates": len(copy.rows)}
        look = NO_COPY if copy is first else ""
    else:
        changes = (pair for pair in _pairs(draft, root) if len({*map(_order(draft), pair)}) > 1)
        for pair in changes:
            older, first = sorted(pair, key=_order(draft))
            again, expect = [older.record], {"superseded": 1}
            break
    rows = [each.record for each in (first, *_alike(draft, root, first))]
    if bad := _bad(draft, root):
        found = tried(draft.topic, [_as_written(each) for each in bad], root)
        expect["malformed"] = [*found.malformed.elements()]
    return Case("records of the sample", [[*rows, *again, *bad]], rows, expect, look)


def _of_late(draft: Draft, root: str) -> list[Case]:
    """A late record of the sample behind the one that made it late; without one an older record
    that comes behind the newest. And one that is in time, by as little as there is.
    """
    delay = draft.spec.watermark_delay
    if delay is None:
        return []
    rule, known = of_rows(delay), _known(draft)
    newest = max(known, key=lambda each: each.last)
    before, pairs = known[0], list[tuple[Good, Good]]()
    for each in known:
        pairs += [(before, each)] if each.last < rule(before.last) else []
        before = max(before, each, key=lambda one: one.last)
    older = [each for each in known if each.last < rule(newest.last)]
    older.sort(key=lambda each: -each.last)
    found = [(pair, "") for pair in pairs] + [((newest, each), NOT_LATE) for each in older]
    for (first, late), look in (each for each in found[:TRIED] if _usable(draft, root, *each[0])):
        near = [each for each in known if rule(first.last) <= each.first <= each.last < first.last]
        for timely in sorted(near, key=lambda each: each.first)[:TRIED]:
            if _usable(draft, root, first, late, timely):
                batches = [[first.record], [timely.record, late.record]]
                rows = [first.record, timely.record]
                return [Case("one is late", batches, rows, {"late": len(late.rows)}, look)]
    return []


class Good(NamedTuple):
    """A good value of the sample: one record, or many."""

    record: Sampled
    rows: tuple[Mapping[str, Any], ...]
    first: int
    last: int
    """Its event times, in microseconds since 1970."""


def _known(draft: Draft) -> list[Good]:
    """In the order of their arrival."""
    clock, ahead = draft.topic.event_time, micros(draft.topic.max_ahead)
    found = list[Good]()
    both = zip(draft.tried.good, draft.tried.rows, strict=True)
    for _, parts in groupby(both, key=lambda each: each[0][:2]):
        (record, *_), rows = zip(*parts, strict=True)
        times = sorted(micros(row[clock]) for row in rows)
        arrived = record.timestamp
        if arrived is None or times[-1] <= arrived * MILLISECOND + ahead:
            found.append(Good(record, rows, times[0], times[-1]))
    return found


def _key(draft: Draft, of: Good) -> str:
    names = draft.topic.columns if "*" in draft.keys else draft.keys
    return repr([[row[name] for name in names] for row in of.rows])


def _order(draft: Draft) -> Callable[[Good], tuple[Any, ...]]:
    """The step's: of one key the later change is greater."""
    [step] = draft.spec.steps
    return lambda of: tuple(row[name] for row in of.rows for name in step.placed)


def _alike(draft: Draft, root: str, first: Good) -> Iterator[Good]:
    """Records of other keys that are equal to it in as many fields as may be, each in some more: a
    coarser key loses one of them.
    """
    apart, known = {*draft.topic.columns}, {_key(draft, first)}
    [row, *_] = first.rows

    def shared(of: Good) -> set[str]:
        return {name for name in apart if of.rows[0][name] == row[name]}

    for _ in range(GOOD - 1):
        others = [each for each in _known(draft) if _key(draft, each) not in known]
        others.sort(key=lambda each: -len(shared(each)))
        for each in others[:TRIED]:
            if _usable(draft, root, first, each):
                yield each
                apart -= shared(each)
                known.add(_key(draft, each))
                break


def _pairs(draft: Draft, root: str) -> Iterator[tuple[Good, Good]]:
    seen = dict[str, Good]()
    for each in _known(draft):
        first = seen.setdefault(_key(draft, each), each)
        if first is not each and _usable(draft, root, first) and _usable(draft, root, each):
            yield first, each


def _usable(draft: Draft, root: str, *given: Good) -> bool:
    """Whether a person reads them, each is a row of its own, and JSON written anew is the same."""
    alone = (tried(draft.topic, [_as_written(each.record)], root) for each in given)
    keys = {_key(draft, each) for each in given}
    short = all(_is_short(each.record) for each in given)
    return short and len(keys) == len(given) and all(map(_is_plain, alone))


def _bad(draft: Draft, root: str) -> list[Sampled]:
    """Not those that are bad in a way that JSON written anew is not."""
    short = [each for each in draft.tried.examples.values() if _is_short(each)]
    written = (tried(draft.topic, [_as_written(each)], root) for each in short)
    return [each for each, found in zip(short, written, strict=True) if found.malformed][:BAD]


def _is_plain(alone: Tried) -> bool:
    floats = (value for row in alone.rows for value in row.values() if isinstance(value, float))
    finite = all(abs(value) < float("inf") for value in floats)
    whole = len(alone.times_ms) == len(alone.rows) > 0 and not alone.malformed
    return finite and whole and all(row.get("op") != "d" for row in alone.rows)


def _is_short(record: Sampled) -> bool:
    return len(record.value or b"") + len(record.key or b"") <= LARGEST


def _as_written(record: Sampled) -> Sampled:
    parsed = _parsed(record.value)
    value = record.value if parsed is None else json.dumps(parsed).encode()
    return record._replace(partition=0, value=value, headers=[*_headers(record).items()])


def _parsed(value: bytes | None) -> Any:
    try:
        parsed = json.loads((value or b"").decode())
        json.dumps(parsed, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _headers(record: Sampled) -> dict[str, bytes | None]:
    """Those that a case can have: text, each once."""
    return {name: each for name, each in record.headers if not isinstance(_text(each), bytes)}


def _record(record: Sampled) -> str:
    given = dict[str, Any]()
    if record.timestamp is not None and is_time(record.timestamp):
        given["timestamp"] = at_milliseconds(record.timestamp)
    if record.key is not None:
        given["key"] = _text(record.key)
    if headers := _headers(record):
        given["headers"] = {name: _text(content) for name, content in headers.items()}
    parsed = _parsed(record.value)
    return flow(given | {"value": _text(record.value) if parsed is None else parsed})


def _text(content: bytes | None) -> str | bytes | None:
    try:
        return content if content is None else content.decode()
    except UnicodeDecodeError:
        return content


def flow(value: Any) -> str:
    """In the form of YAML that is JSON, but for bytes and numbers."""
    return _UNPRINTABLE.sub(lambda found: f"\\U{ord(found[0]):08x}", "".join(_parts(value)))


def _parts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            inner = (
                f"{json.dumps(str(k), ensure_ascii=False)}: {''.join(_parts(v))}"
                for k, v in value.items()
            )
            yield f"{{{', '.join(inner)}}}"
        case list() | tuple():
            yield f"[{', '.join(''.join(_parts(each)) for each in value)}]"
        case bytes():
            yield f'!!binary "{b64encode(value).decode()}"'
        case datetime():
            yield json.dumps(value.isoformat().replace("+00:00", "Z"))
        case date():
            yield json.dumps(value.isoformat())
        case float():
            text = repr(value)
            # YAML takes 1e+22 for a text.
            yield text if "." in text else text.replace("e", ".0e")
        case None | bool() | int() | str():
            yield json.dumps(value, ensure_ascii=False)
        case _:
            yield json.dumps(str(value), ensure_ascii=False)
