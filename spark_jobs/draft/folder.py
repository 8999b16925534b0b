"""Folder: a drafted pipeline as the spec.py that a person goes on with, and where it is written.
Nothing is overwritten.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from keyword import iskeyword
from pathlib import Path
from shlex import quote

from spark_jobs.draft.beside import KEY
from spark_jobs.draft.disorder import around, in_words
from spark_jobs.draft.drafted import Draft
from spark_jobs.draft.fields import LEFT_OUT, THE_FORMAT, THE_KEY, THE_TIME
from spark_jobs.draft.many import THE_LIST
from spark_jobs.errors import SampleUnusable
from spark_jobs.registry import find as registry
from spark_jobs.spec import Field, Format, Local, Pipeline
from spark_jobs.spec.duration import interval
from spark_jobs.spec.fields.field import is_name
from spark_jobs.spec.formats.format import JSON, TEXT

BESIDE = (KEY, "headers")
OWN = Path("pipelines")
"""The package that a first pipeline makes, in this folder."""


def refuse_there(into: Path | None, name: str, topic: str) -> Path:
    """The pipeline's folder. Raises SampleUnusable where it is there, or can be none;
    SettingInvalid.
    """
    package = _package(into)
    folder = package / name
    if not is_name(name):
        raise SampleUnusable.no_name(name=name, topic=topic)
    if "__" in name:
        raise SampleUnusable.name_of_another(name=name)
    known = {*sys.stdlib_module_names, "spark_jobs"}
    if not package.name.isidentifier() or iskeyword(package.name) or package.name in known:
        raise SampleUnusable.no_package(folder=package, name=package.name)
    if folder.exists():
        raise SampleUnusable.folder_there(folder=folder)
    return folder


def write(folder: Path, spec: str, cases: str | None) -> tuple[Path, ...]:
    """The paths of its spec.py and of its tests.yaml, if there are cases."""
    folder.mkdir(parents=True)
    package = folder.parent / "__init__.py"
    if not package.exists():
        package.write_text('"""The pipelines: one folder each."""\n', encoding="utf-8")
    (folder / "__init__.py").touch()
    made = {folder / "spec.py": spec} | ({folder / "tests.yaml": cases} if cases else {})
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    return tuple(made)


def next_steps(into: Path | None, name: str) -> tuple[str, ...]:
    """Commands, in their order."""
    folder = _package(into)
    named = os.environ.get("SLUICE_PIPELINES")
    path = "" if folder.parent == Path.cwd() else f" PYTHONPATH={quote(str(folder.parent))}"
    export = f"export SLUICE_PIPELINES={folder.name}{path}"
    then = (f"sluice {verb} {name}" for verb in ("test", "preview", "run"))
    return (*(() if named and not into else (export,)), *then)


def _package(into: Path | None) -> Path:
    """Sluice's own examples are no place for it. `..` is what it means."""
    if into is None:
        into = registry.folder() if os.environ.get("SLUICE_PIPELINES") else OWN
    return into.resolve()


def text(draft: Draft, records: int) -> str:
    """Valid Python, in the door's names."""
    spec, topic = draft.spec, draft.topic
    steps = [each.kind.capitalize() for each in spec.steps]
    checks = ["Check"] if spec.output_checks else []
    formats = [type(each).__name__ for each in (topic.format, topic.format.within) if each != JSON]
    formats += [] if topic.key == TEXT else [type(topic.key).__name__]
    formats += ["Local" for each in topic.fields if isinstance(each.format, Local)]
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
        *_said(draft, "event_time", THE_TIME),
        f"    event_time={_quoted(topic.event_time)},",
        *([f"    envelope={_quoted(topic.envelope)},"] if topic.envelope else []),
        *_each(draft),
        *(_format(draft) if topic.format != JSON else []),
        *([f"    key={_made(topic.key)},"] if topic.key != TEXT else []),
        *(f"    # {each}: {said}" for each in BESIDE if (said := draft.shown.get(each))),
        *(['    tombstones="dropped",'] if topic.tombstones == "dropped" else []),
        *([f"    # look: {note}"] if (note := draft.notes.get(LEFT_OUT)) else []),
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
    if note := draft.notes.get(THE_FORMAT):
        yield f"    # look: {note}"
    yield f"    format={_made(draft.topic.format)},"


def _each(draft: Draft) -> Iterator[str]:
    if each := draft.topic.each:
        yield f"    # look: {draft.notes[THE_LIST]}"
        yield f"    each={_quoted(each)},"


def _made(format_: Format | Local) -> str:
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
    for name in ("part", "path", "up", "format", "required"):
        value = getattr(field, name)
        if value != Field.model_fields[name].default:
            told = _made(value) if isinstance(value, Local) else _quoted(value)
            given.append(f"{name}={told}")
    if note := notes.get(field.name):
        yield f"        # look: {note}"
    yield f"        Field({', '.join(given)}),"


def _said(draft: Draft, choice: str, note: str) -> Iterator[str]:
    """What the sample shows of a choice, and what it cannot tell."""
    if shown := draft.shown.get(choice):
        yield f"    # {choice}: {shown}"
    if look := draft.notes.get(note):
        yield f"    # look: {look}"


def _delay(draft: Draft) -> Iterator[str]:
    delay = draft.spec.watermark_delay
    if delay is None:
        return
    yield "    # Behind the newest event time:"
    yield f"    # {draft.disorder}."
    yield f"    # Late of {len(draft.disorder.times):,}, if each came in a batch of its own:"
    yield f"    # {in_words(draft.disorder, around(delay, most=5))}."
    yield f"    watermark_delay={_quoted(interval(delay))},"


def _steps(draft: Draft) -> Iterator[str]:
    yield from _said(draft, "key", THE_KEY)
    for step in draft.spec.steps:
        given = [name for name in type(step).model_fields if name in step.model_fields_set]
        told = ", ".join(f"{name}={_quoted(getattr(step, name))}" for name in given)
        yield f"    steps=({type(step).__name__}({told}),),"


def _checks(spec: Pipeline) -> Iterator[str]:
    for check in spec.output_checks:
        wanted = ", ".join(f"{_quoted(k)}: {_quoted(v)}" for k, v in check.kwargs.items())
        yield f"    output_checks=(Check(type={_quoted(check.type)}, kwargs={{{wanted}}}),),"
