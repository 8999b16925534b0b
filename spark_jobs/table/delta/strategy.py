"""Strategy: which commit a pipeline's batches get."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import TYPE_CHECKING, assert_never

from pyspark.sql import DataFrame

from spark_jobs.storage.root.path_forms import spark_url
from spark_jobs.table.delta import commit
from spark_jobs.table.delta.commit import in_words
from spark_jobs.table.delta.table_layout import order, parts
from spark_jobs.table.entry import Commit

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.steps.step import Step
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.table.entry import OfBatch

CommitStrategy = Callable[[DataFrame, Commit], None]


def commit_batch(table: UPath, rows: DataFrame, spec: Pipeline, of: OfBatch, held: Held) -> None:
    """As Table.commit."""
    path = spark_url(table)
    to = Commit(path, of.owner, of.batch, of.note, table, of.records, held.confirm)
    with in_words(path), commit.within(rows.sparkSession, held.told):
        commit_strategy(spec)(rows, to)


def commit_strategy(spec: Pipeline) -> CommitStrategy:
    """The function that commits this pipeline's batches, by its last step or its output mode."""
    if spec.is_archive:
        return lambda rows, to: commit.archive(_ordered(rows, spec), to)
    if step := spec.keyed:
        follow = resolve_name(step.commits)
        return lambda rows, to: follow(rows, step, to)
    match spec.output_mode:
        case "append":
            return lambda rows, to: commit.append(_ordered(rows, spec), to)
        case "complete":
            return lambda rows, to: commit.replace(_ordered(rows, spec), to)
        case "update":
            return _merge_strategy(spec.steps[-1])
        case _:
            assert_never(spec.output_mode)


def _ordered(rows: DataFrame, spec: Pipeline) -> DataFrame:
    """The rows in the order in which their files are read: a file's statistics are then narrow."""
    by = order(spec)
    return rows.sortWithinPartitions(*(f"`{name}`" for name in (*parts(spec), *by))) if by else rows


def _merge_strategy(last: Step) -> CommitStrategy:
    key = last.update_key
    assert key is not None  # spec/output_mode.py refuses the spec
    if last.balance.several_per_key:
        return lambda rows, to: commit.merge(commit.newest(rows, key), key, to)
    return lambda rows, to: commit.merge(rows, key, to)
