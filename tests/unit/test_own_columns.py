"""No column that Sluice adds to a pipeline's rows can have the name of one of theirs.

The calls that name a column are found in the source. So a new one stands here too, either with the
prefix or with the reason why no column of a pipeline is beside it.
"""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Aggregate, Field, GroupState, Topic, Tumbling
from spark_jobs.values.own_columns import BUCKET, KAFKA, PREFIX, WINDOW, is_own
from tests.harness.refused import fails

SOURCES = Path(__file__).parents[2]
PACKAGES = (
    "source", "decode", "steps", "sink", "table", "audit", "rejected", "checks.py", "repair", "admin/rebuild",
    "runs",
)  # fmt: skip
NAMING = {"withColumn", "withColumnRenamed", "append_column", "alias"}
"""Calls whose first argument names a column, or a field of a struct."""

BESIDE_NONE: dict[str, set[str]] = {
    # Columns of the table of an archive, or of an ops table.
    "rejected/values_kept.py": {"headers"},
    "audit/batch_offsets.py": {"every"},
    # Counts, observed or collected.
    "rejected/rejected_store.py": {"unkept"}
    # Columns of an ops table.
    | {"outcome", "malformed", "event_time", "kafka_timestamp", "kafka_millis", "headers"},
    "steps/capture.py": {"late", "kept"},
    "steps/apart/join.py": {"rows"},
    "steps/classify.py": {"elements", "empty", "refused", "with_elements"} | {"read", "rows", "undated", "first_event_us", "last_event_us"} | {"read_", "last_event_us_"}
    # Columns of the table of an archive.
    | {"topic_id", "kafka_timestamp", "kafka_millis", "event_time", "event_date"},
    "steps/aggregate.py": {"counted"},
    "steps/chain.py": {"rows", "newest_us"},
    "steps/canonical/deduplicate.py": {"reused_keys", "ambiguous_copies"},
    # Alone in a select: a record's place, and its group's bucket.
    "runs/failures/group_search.py": {"g", "first", "last"},
    "repair/compute/judging.py": {"late"},
    # What is observed.
    "repair/unit/key_rows.py": {"rows"},
    "repair/unit/range_rows.py": {"rows", "explained"},
    "repair/compute/failing.py": {"partition", "first", "last"},
    "repair/unit/session_rows.py": {"begin", "end", "n", "explained"},
    "repair/compute/account.py": {"rows_before", "rows_after", "unexplained", "rounded", "_hours", "_"},
    # The places of records that a rule refuses; a count by rule.
    "steps/by_rules.py": {"at", "reason", "rules"},
    # The ids of schemas, counted.
    "runs/schema_look.py": {"place", "head", "first", "records"},
    # The columns of a comparison: a pipeline's are within before and after.
    "repair/compute/change.py": {"op", "explained"},
    "repair/compute/pairs.py": {"before", "after"},
    # Sums over the stores of a state.
    "runs/repartition.py": {"rows", "digest", "misplaced"},
    # Every column of the frame.
    "steps/catalyst.py": {"input_"},
    # Names of tables in a MERGE.
    "table/delta/commit.py": {"old", "new"},
    "table/delta/replacing.py": {"_change_type"},
}  # fmt: skip


def named() -> Iterator[tuple[str, str]]:
    """The file, and the name that a call gives to a column; none where it is a pipeline's own, as
    a variable has it.
    """
    for package in PACKAGES:
        top = SOURCES / "spark_jobs" / package
        assert top.exists()
        for path in [top] if top.is_file() else sorted(top.rglob("*.py")):
            place = path.relative_to(SOURCES)
            module = ".".join(place.with_suffix("").parts)
            if not any(f"{each}(" in path.read_text() for each in NAMING):
                continue
            for call in _calls(ast.parse(path.read_text())):
                if (
                    _called(call) in NAMING
                    and call.args
                    and (name := _name(call.args[0], module)) is not None
                ):
                    yield place.relative_to("spark_jobs").as_posix(), name


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """All calls but those that name a field of a struct, or what is observed."""
    if isinstance(node, ast.Call):
        yield node
        if _called(node) in {"struct", "observe"}:
            return
    for child in ast.iter_child_nodes(node):
        yield from _calls(child)


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _name(given: ast.expr, module: str) -> str | None:
    """What the argument is, or its beginning; None of a variable of a function."""
    match given:
        case ast.Constant(str(name)):
            return name
        case ast.Name(name):
            found = getattr(importlib.import_module(module), name, None)
            return found if isinstance(found, str) else None
        case ast.JoinedStr([first, *_]):
            return _name(first.value if isinstance(first, ast.FormattedValue) else first, module)
    return None


def test_every_column_that_is_added_to_the_rows_has_the_prefix_or_stands_beside_none():
    # The columns of a window are an output's, and refused as its keys and measures.
    found = {each for each in named() if not is_own(each[1]) and not each[1].startswith(WINDOW)}
    assert found == {(file, name) for file, names in BESIDE_NONE.items() for name in names}
    assert {name for _, name in named() if name.startswith(PREFIX)}


FIELDS = (Field(name="at", type="timestamp"),)
OTHERS: dict[str, Any] = {"keys": ("at",), "window": Tumbling(size="1 hour")}


@pytest.mark.parametrize(
    "make",
    [
        lambda name: Topic(name="t", event_time="at", fields=(*FIELDS, Field(name=name, type="int"))),
        lambda name: Aggregate(**OTHERS | {"keys": (name,)}, measures={"n": "count(*)"}),
        lambda name: Aggregate(**OTHERS, measures={name: "count(*)"}),
        lambda name: Aggregate(**OTHERS, measures={"n": "count(*)"}, event_time=name),
        lambda name: GroupState(keys=("at",), processor="P", output=(Field(name=name, type="int"),)),
        lambda name: GroupState(keys=(name,), processor="P", output=FIELDS),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", [KAFKA, f"{PREFIX}copy", f"{PREFIX.upper()}COPY"])
def test_a_name_of_sluices_own_columns_is_refused_wherever_a_spec_can_give_one(make, name):
    with pytest.raises(SpecInvalid):
        make(name)
    make("row")


def test_a_measure_cannot_be_named_as_the_column_by_which_a_window_groups():
    with fails(SpecInvalid, "fields_refused", fields="measures"):
        Aggregate(**OTHERS, measures={WINDOW: "count(*)"})
    Aggregate(keys=("at",), measures={WINDOW: "count(*)"})


def test_those_that_are_in_sparks_state_have_the_names_that_older_checkpoints_know():
    assert (WINDOW, BUCKET) == ("window", "_sluice_bucket")
