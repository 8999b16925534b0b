"""What a run says of the records that it could not use: reasons, and the first of them in words."""

import gzip
import json

import pytest

from spark_jobs.messages.offset_account import Account
from spark_jobs.ops import ops_tables
from spark_jobs.runs.told.first_rejected import described, first_rejected
from spark_jobs.storage.root.paths import Paths
from tests.unit.specs import pipeline

SPEC = pipeline()
DECLARED = {field.name: field.type for field in SPEC.topic.fields}
RENAMED = json.dumps(dict.fromkeys(name.upper() for name in DECLARED)).encode()


def rejected(root: Paths, *values: bytes | None, generation: str = "g1", batch: int = 0):
    own = {"pipeline": SPEC.name, "generation": generation, "batch_id": batch, "run_id": "r"}
    own |= {"partition": 0, "kind": "malformed"}
    rows = [
        own | {"offset": offset, "value": value, "reason": f"reason {min(offset, 1)}"}
        for offset, value in enumerate(values)
    ]
    ops_tables.append(root.root, "quarantine", rows)


def told(root: Paths, account: Account, *, shown: bool = False) -> tuple[str, ...]:
    return first_rejected(root, SPEC, ["g1"], [0, 1], account, shown=shown)


def test_it_counts_the_reasons_and_decodes_the_first_record_as_far_as_it_goes(tmp_path):
    root = Paths(str(tmp_path), SPEC)
    rejected(root, RENAMED, b"secret", b"secret")
    rejected(root, b"of another batch", batch=2)
    rejected(root, b"of another checkpoint", generation="g0")
    head, most, other, first = told(root, Account(read=6114, malformed=6114))
    assert head.endswith("of 6,114 records 6,114 are malformed and 0 premature; 0 were accepted")
    assert (most, other) == ("  2 malformed: reason 1", "  1 malformed: reason 0")
    assert first.startswith("  the first, partition 0 offset 0: an object with ")
    for name, kind in DECLARED.items():
        assert f"{name.upper()} (null)" in first
        assert f"{name} ({kind})" in first.partition("it lacks")[2]
    assert told(root, Account(read=9, accepted=9)) == ()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "no value"),
        (b"", "0 bytes that are no JSON"),
        (gzip.compress(b"{}", mtime=0), "they begin as gzip"),
        (b"\x00\x00\x00\x00\x07abc", "they begin as a schema registry's form"),
        (b"[1, 2]", "JSON, but list and no object"),
        (b"7", "JSON, but whole number and no object"),
        (b'{"\x1b": 1}', "no JSON"),
        (b'{"a\\u202e": 1.5}', r"a\u202e (number)"),
        (b"[" * 2**19, "no JSON"),
        (b"x" * 2**21, "too many to be looked at"),
    ],
)
def test_any_bytes_are_described(value, words):
    assert words in described(value, DECLARED, shown=False)


def test_values_are_named_by_what_they_are_unless_bytes_of_records_may_be_shown():
    value = b'{"name": "Ada \x1b[31m", "n": 1}'.replace(b"\x1b", b"\\u001b")
    assert "Ada" not in (hidden := described(value, DECLARED, shown=False))
    assert "name (text), n (whole number)" in hidden
    assert described(value, DECLARED, shown=True).startswith(f"{hidden}: ")
    assert "Ada" in described(value, DECLARED, shown=True)
