"""Spec: the one door for the writer of a pipeline: all that a `spec.py` needs, and nothing else.

    from spark_jobs.spec import Aggregate, Deduplicate, Field, Pipeline, Topic, Tumbling

What a user declares is read here, checked, and refused in words. The names of `__all__` come by
this door, everywhere; others, which no spec needs, by their module. A name's module is loaded when
the name is first asked for: what a spec does not use, neither a run nor a DAG's parse loads.

May import: errors, values. Imported by: any room above.
Never here: what needs Spark, a file, a broker or a setting.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

_MODULES: Final = {
    "Aggregate": "steps.aggregate",
    "Archive": "archive",
    "Avro": "formats.avro",
    "Check": "checks.check",
    "Compressed": "formats.compressed",
    "Csv": "formats.csv",
    "Deduplicate": "steps.deduplicate",
    "Dimension": "dimension",
    "Field": "fields.field",
    "Files": "files",
    "Format": "formats.format",
    "GroupState": "steps.group_state",
    "History": "steps.history",
    "Join": "steps.join",
    "Json": "formats.format",
    "Latest": "steps.latest",
    "Layout": "table.layout",
    "Lines": "formats.lines",
    "Local": "fields.local_time",
    "Lookup": "steps.lookup",
    "MoreTopics": "several",
    "Parquet": "formats.format",
    "Pipeline": "pipeline.pipeline",
    "Protobuf": "formats.protobuf",
    "Ranges": "ranges",
    "Rule": "checks.rule",
    "Schedule": "pipeline.schedule",
    "Session": "windows",
    "Sliding": "windows",
    "State": "pipeline.state",
    "Table": "table.upstream",
    "Text": "formats.format",
    "Topic": "topic",
    "Transform": "steps.transform",
    "Tumbling": "windows",
    "WhenData": "pipeline.schedule",
    "fresh": "checks.timely",
    "from_json_schema": "json_schema.reading",
    "rule_share": "checks.rule",
    "unmatched_share": "checks.unmatched_share",
    "volume": "checks.timely",
    "within": "checks.check",
}
"""A name -> its module below this one; a test holds them against the imports below."""

__all__ = list(_MODULES)

if TYPE_CHECKING:
    from spark_jobs.spec.archive import Archive as Archive
    from spark_jobs.spec.checks.check import Check as Check, within as within
    from spark_jobs.spec.checks.rule import Rule as Rule, rule_share as rule_share
    from spark_jobs.spec.checks.timely import fresh as fresh, volume as volume
    from spark_jobs.spec.checks.unmatched_share import unmatched_share as unmatched_share
    from spark_jobs.spec.dimension import Dimension as Dimension
    from spark_jobs.spec.fields.field import Field as Field
    from spark_jobs.spec.fields.local_time import Local as Local
    from spark_jobs.spec.files import Files as Files
    from spark_jobs.spec.formats.avro import Avro as Avro
    from spark_jobs.spec.formats.compressed import Compressed as Compressed
    from spark_jobs.spec.formats.csv import Csv as Csv
    from spark_jobs.spec.formats.format import (
        Format as Format,
        Json as Json,
        Parquet as Parquet,
        Text as Text,
    )
    from spark_jobs.spec.formats.lines import Lines as Lines
    from spark_jobs.spec.formats.protobuf import Protobuf as Protobuf
    from spark_jobs.spec.json_schema.reading import from_json_schema as from_json_schema
    from spark_jobs.spec.pipeline.pipeline import Pipeline as Pipeline
    from spark_jobs.spec.pipeline.schedule import Schedule as Schedule, WhenData as WhenData
    from spark_jobs.spec.pipeline.state import State as State
    from spark_jobs.spec.ranges import Ranges as Ranges
    from spark_jobs.spec.several import MoreTopics as MoreTopics
    from spark_jobs.spec.steps.aggregate import Aggregate as Aggregate
    from spark_jobs.spec.steps.deduplicate import Deduplicate as Deduplicate
    from spark_jobs.spec.steps.group_state import GroupState as GroupState
    from spark_jobs.spec.steps.history import History as History
    from spark_jobs.spec.steps.join import Join as Join
    from spark_jobs.spec.steps.latest import Latest as Latest
    from spark_jobs.spec.steps.lookup import Lookup as Lookup
    from spark_jobs.spec.steps.transform import Transform as Transform
    from spark_jobs.spec.table.layout import Layout as Layout
    from spark_jobs.spec.table.upstream import Table as Table
    from spark_jobs.spec.topic import Topic as Topic
    from spark_jobs.spec.windows import Session as Session, Sliding as Sliding, Tumbling as Tumbling
else:

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = found
        return found
