"""Spec: the one door for whoever writes a pipeline: all that a `spec.py` needs, and nothing else.

    from spark_jobs.spec import Aggregate, Deduplicate, Field, Pipeline, Topic, Tumbling

What a user declares is read here, checked, and refused in words. The names of `__all__` come by
this door, everywhere; others, which no spec needs, by their module.

May import: errors, pinned, spans, values. Imported by: any room above.
Never here: what needs Spark, a file, a broker or a setting.
"""

from __future__ import annotations

from spark_jobs.spec.archive import Archive
from spark_jobs.spec.checks.check import Check, within
from spark_jobs.spec.checks.timely import fresh, volume
from spark_jobs.spec.fields.local_time import Local
from spark_jobs.spec.formats.avro import Avro
from spark_jobs.spec.formats.compressed import Compressed
from spark_jobs.spec.formats.csv import Csv
from spark_jobs.spec.formats.format import Format, Json, Text
from spark_jobs.spec.formats.lines import Lines
from spark_jobs.spec.formats.protobuf import Protobuf
from spark_jobs.spec.json_schema.reading import from_json_schema
from spark_jobs.spec.more_topics import MoreTopics
from spark_jobs.spec.pipeline import Pipeline, Schedule, State, WhenData
from spark_jobs.spec.ranges import Ranges
from spark_jobs.spec.steps.aggregate import Aggregate
from spark_jobs.spec.steps.deduplicate import Deduplicate
from spark_jobs.spec.steps.group_state import GroupState
from spark_jobs.spec.steps.history import History
from spark_jobs.spec.steps.latest import Latest
from spark_jobs.spec.steps.transform import Transform
from spark_jobs.spec.table.layout import Layout
from spark_jobs.spec.topic import Field, Topic
from spark_jobs.spec.windows import Session, Sliding, Tumbling

__all__ = [
    "Aggregate",
    "Archive",
    "Avro",
    "Check",
    "Compressed",
    "Csv",
    "Deduplicate",
    "Field",
    "Format",
    "GroupState",
    "History",
    "Json",
    "Latest",
    "Layout",
    "Lines",
    "Local",
    "MoreTopics",
    "Pipeline",
    "Protobuf",
    "Ranges",
    "Schedule",
    "Session",
    "Sliding",
    "State",
    "Text",
    "Topic",
    "Transform",
    "Tumbling",
    "WhenData",
    "fresh",
    "from_json_schema",
    "volume",
    "within",
]
