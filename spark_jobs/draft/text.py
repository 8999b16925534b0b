"""Text: a drafted pipeline as the spec.py that a person goes on with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from spark_jobs.draft.drafted import Draft
from spark_jobs.draft.fields import LEFT_OUT
from spark_jobs.spec import Field, Format, Pipeline
from spark_jobs.spec.duration import interval
from spark_jobs.spec.formats.format import JSON


def text(draft: Draft, records: int) -> str:
    """Valid Python, in the door's names."""
    spec, topic = draft.spec, draft.topic
    steps = [each.kind.capitalize() for each in spec.steps]
    checks = ["Check"] if spec.output_checks else []
    formats = [type(each).__name__ for each in (topic.format, topic.format.within) if each != JSON]
    names = sorted({*checks, *steps, *formats, "Field", "Pipeline", "Topic", "within"})
    lines = [
        f'"""{spec.about}',
        "",
        f"Drafted by `sluice new` on {datetime.now(UTC):%Y-%m-%d} from {records:,} records.",
        '"""',
        "",
        f"from spark_jobs.spec import {', '.join(names)}",
        "",
        f"{_constant(spec)} = Topic(",
        f"    name={_quoted(topic.name)},",
        *([f"    cluster={_quoted(topic.cluster)},"] if topic.cluster else []),
        f"    event_time={_quoted(topic.event_time)},",
        *([f"    envelope={_quoted(topic.envelope)},"] if topic.envelope else []),
        *(_format(draft) if formats else []),
        *(['    tombstones="dropped",'] if topic.tombstones == "dropped" else []),
        *([f"    # {note}"] if (note := draft.notes.get(LEFT_OUT)) else []),
        "    fields=(",
        *(line for field in topic.fields for line in _field(field, draft.notes)),
        "    ),",
        ")",
        "",
        "SPEC = Pipeline(",
        f"    name={_quoted(spec.name)},",
        f"    about={_quoted(spec.about)},",
        f"    topic={_constant(spec)},",
        *([f"    root={_quoted(spec.root)},"] if spec.root else []),
        *_delay(draft),
        *_steps(draft),
        *_checks(spec),
        '    state_checks=(within("malformed_share", 0.02),),',
        ")",
    ]
    return "\n".join(lines) + "\n"


def _quoted(value: object) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_quoted, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, str) and not ('"' in value and "'" not in value):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


def _format(draft: Draft) -> Iterator[str]:
    if note := draft.notes.get("format"):
        yield f"    # {note}"
    yield f"    format={_made(draft.topic.format)},"


def _made(format_: Format) -> str:
    given = {name: getattr(format_, name) for name in format_.model_dump(exclude_defaults=True)}
    words = (
        f"{name}={_made(value) if isinstance(value, Format) else _quoted(value)}"
        for name, value in given.items()
    )
    return f"{type(format_).__name__}({', '.join(words)})"


def _constant(spec: Pipeline) -> str:
    return spec.name.upper()


def _field(field: Field, notes: Mapping[str, str]) -> Iterator[str]:
    given = [f"name={_quoted(field.name)}", f"type={_quoted(field.type)}"]
    for name in ("part", "path", "format", "required"):
        value = getattr(field, name)
        if value != Field.model_fields[name].default:
            given.append(f"{name}={_quoted(value)}")
    if note := notes.get(field.name):
        yield f"        # {note}"
    yield f"        Field({', '.join(given)}),"


def _delay(draft: Draft) -> Iterator[str]:
    delay = draft.spec.watermark_delay
    if delay is None:
        return
    late = draft.disorder.late(delay)
    yield "    # Behind the newest event time:"
    yield f"    # {draft.disorder}."
    yield f"    # With this delay {late} of them are late."
    yield f"    watermark_delay={_quoted(interval(delay))},"


def _steps(draft: Draft) -> Iterator[str]:
    if note := draft.notes.get("steps"):
        yield f"    # {note}"
    for step in draft.spec.steps:
        given = [name for name in type(step).model_fields if name in step.model_fields_set]
        told = ", ".join(f"{name}={_quoted(getattr(step, name))}" for name in given)
        yield f"    steps=({type(step).__name__}({told}),),"


def _checks(spec: Pipeline) -> Iterator[str]:
    for check in spec.output_checks:
        wanted = ", ".join(f"{_quoted(k)}: {_quoted(v)}" for k, v in check.kwargs.items())
        yield f"    output_checks=(Check(type={_quoted(check.type)}, kwargs={{{wanted}}}),),"
