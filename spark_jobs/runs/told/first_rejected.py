"""First rejected: what was wrong with the records that a run could not use, in words, beside the
run's own log: a new spec's writer need not look for it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Set
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.errors.base import visible
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.withheld import of_reason
from spark_jobs.ops import ops_tables
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.state_checks import REJECTIONS
from spark_jobs.spec.inputs import Topics
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from spark_jobs.checkpoint.run import Run

MOST_REASONS: Final = 3
MOST_READ: Final = 1_000
"""Reasons that are read: each may quote another value."""
MOST_REASON: Final = 300
"""Characters of a reason, or of a record."""
MOST_NAMES: Final = 40
MOST_BYTES: Final = 2**20
"""Bytes of a record that is decoded for this."""
BEGINNINGS: Final = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"Obj\x01": "an Avro file",
    b"\x00\x00": "a schema registry's form (Avro, Protobuf)",
    b"\xef\xbb\xbf": "text with a byte order mark",
}
KINDS: Final[dict[type, str]] = {
    str: "text",
    bool: "true or false",
    int: "whole number",
    float: "number",
    list: "list",
    dict: "object",
    type(None): "null",
}


def worth_telling(
    run: Run, batches: Collection[int], account: Account, failed: Set[str]
) -> tuple[str, ...]:
    """Lines of a first run, and of one where a check of rejected records has `failed`. A run does
    not fail for them.
    """
    if 0 not in batches and not failed & REJECTIONS:
        return ()
    shown = run.settings.record_bytes == "shown" and not run.spec.inputs.personal
    of_it = (run.identity.generations, batches, account)
    try:
        return first_rejected(run.paths, run.spec, *of_it, shown=shown)
    except Exception as error:  # noqa: BLE001 - lines for people
        return (f"{run.spec.name}: the rejected records cannot be shown: {error}",)


def first_rejected(
    paths: Paths,
    spec: Pipeline,
    generations: Iterable[str],
    batches: Iterable[int],
    account: Account,
    *,
    shown: bool,
) -> tuple[str, ...]:
    """Lines about the quarantined records of a run's batches, whose sum is `account`: how many for
    which reason, and the first of them, decoded as far as it goes. Of its values only what they
    are, unless bytes of records may be `shown`.
    """
    if not account.malformed + account.premature:
        return ()
    where = (
        f"{ops_tables.equals({'pipeline': spec.name})} AND "
        f"{ops_tables.among('generation', generations)} AND "
        f"batch_id IN ({', '.join(map(str, batches))})"
    )
    reasons = ops_tables.query(
        paths.root,
        "quarantine",
        f"SELECT kind, left(reason, {MOST_REASON}) AS reason, count(*) AS records FROM quarantine "
        f"WHERE {where} GROUP BY 1, 2 ORDER BY 3 DESC, 2 LIMIT {MOST_READ}",
    ).to_pylist()
    first = ops_tables.query(
        paths.root,
        "quarantine",
        f'SELECT partition, "offset", value FROM quarantine WHERE {where} AND left_out IS NULL '
        'ORDER BY batch_id, partition, "offset", element LIMIT 1',
    ).to_pylist()
    told: Counter[tuple[str, str]] = Counter()
    for row in reasons:
        reason = row["reason"] or ""
        told[row["kind"], reason if shown else of_reason(reason)] += row["records"]
    inputs = spec.inputs
    return (
        f"{spec.name}: of {account.records:,} records {account.malformed:,} are malformed and "
        f"{account.premature:,} premature; {account.accepted:,} were accepted",
        *(
            f"  {records:,} {kind}: {visible(reason, MOST_REASON)}"
            for (kind, reason), records in told.most_common(MOST_REASONS)
        ),
        *(
            f"  the first, partition {inputs.shown(row['partition'])} offset {row['offset']:,}: "
            f"{described(row['value'], _declared(inputs, row['partition']), shown=shown)}"
            for row in first
        ),
    )


def _declared(inputs: Topics, partition: int) -> dict[str, str]:
    return inputs.of_partition(partition).keys_of_a_value


def described(value: bytes | None, declared: Mapping[str, str], *, shown: bool) -> str:
    """A record's value as far as it can be decoded: the names of its fields and what their values
    are, and the declared ones that it lacks.

    >>> described(b'{"Id": "a", "n": 1}', {"id": "string", "n": "bigint"}, shown=False)
    'an object with Id (text), n (whole number); it lacks id (string)'
    >>> described(b"\\x1f\\x8b\\x08", {}, shown=False)
    '3 bytes that are no JSON: they begin as gzip'
    """
    told = _described(value, declared)
    if not shown or value is None:
        return told
    return f"{told}: {visible(value[:MOST_REASON].decode('utf-8', 'backslashreplace'))}"


def _described(value: bytes | None, declared: Mapping[str, str]) -> str:
    if value is None:
        return "it has no value (a tombstone)"
    if len(value) > MOST_BYTES:
        return f"{len(value):,} bytes, too many to be looked at"
    try:
        found: Any = json.loads(value)
    except (ValueError, RecursionError):
        form = next((form for begin, form in BEGINNINGS.items() if value.startswith(begin)), "")
        return f"{len(value):,} bytes that are no JSON" + (
            f": they begin as {form}" if form else ""
        )
    if not isinstance(found, dict):
        return f"JSON, but {KINDS[type(found)]} and no object"
    names = [f"{visible(name, 100)} ({KINDS[type(of)]})" for name, of in found.items()]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    lacking = [f"{name} ({kind})" for name, kind in declared.items() if name not in found]
    told = f"an object with {', '.join(names[:MOST_NAMES]) or 'no field'}{more}"
    return told + (f"; it lacks {', '.join(lacking[:MOST_NAMES])}" if lacking else "")
