"""Description: what sluice.decode.Decoder is told of a topic, as JSON."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.decode.raw_filter import OVERHEAD
from spark_jobs.values.type_tree import Decimal

if TYPE_CHECKING:
    from spark_jobs.decode.prepared import Prepared
    from spark_jobs.decode.raw_filter import CapturePolicy
    from spark_jobs.spec import Field, Topic

    Described = dict[str, Any]
US: Final = timedelta(microseconds=1)


def described(prepared: Prepared, capture: CapturePolicy | None) -> Described:
    """Of a topic for which choice.why_python is empty."""
    topic = prepared.topic
    names = [field.name for field in topic.fields]
    found: Described = {
        "root": tree(topic),
        "columns": [names.index(name) for name in prepared.wanted],
        "required": [field.required for field in topic.fields],
        "drops": topic.tombstones == "dropped",
        "event_time": names.index(topic.event_time),
    }
    if capture:
        found["capture"] = {
            "bytes": capture.task_bytes,
            "overhead": OVERHEAD,
            "ahead_us": topic.max_ahead // US,
            "clock_us": capture.clock_ms * 1000,
            "late_us": capture.late_before_ms * 1000,
        }
    return found


def tree(topic: Topic) -> Described:
    """The objects, arrays and values of a record, as sluice.decode.Node reads them.

    What is required is refused where it is null, as msgspec does (decode/json/decoder.py, _sure).
    """
    root: Described = {}
    for number, field in enumerate(topic.fields):
        [path] = field.paths
        in_array = isinstance(path[-1], int)
        # msgspec reads a number of a decimal as it is written, and a text as a text.
        raw = isinstance(field.tree, Decimal) and field.format is None
        sure = field.required and not in_array and not raw
        at = root
        for step in path:
            kind = "places" if isinstance(step, int) else "keys"
            at = at.setdefault(kind, {}).setdefault(str(step), {"required": False})
            at["required"] |= sure
        at["leaf"] = _leaf(number, field)
    return root


def _leaf(number: int, field: Field) -> Described:
    digits = field.tree._asdict() if isinstance(field.tree, Decimal) else {}
    return {"column": number, "kind": field.kind, "format": field.format or "", **digits}
