"""Plan lines: what `sluice plan` says of a pipeline, beside why a drain has work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial

from spark_jobs.checkpoint import no_data_batch
from spark_jobs.checkpoint.notes.published import publisher
from spark_jobs.decode.jvm_choice import NO_JAR, why_python
from spark_jobs.launch.submit import files_jar
from spark_jobs.runs.lag import lag_lines
from spark_jobs.runs.new_keys import declarations
from spark_jobs.runs.preflight import Preflight
from spark_jobs.settings.installation import Settings
from spark_jobs.side.pins import pin
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.lateness import unheld
from spark_jobs.spec.analysis.state_checks import acceptance_line
from spark_jobs.spec.duration import interval
from spark_jobs.storage.root.live_place import first_table
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.numbering import within

WHOSE_CLOCK = {
    "CreateTime": "CreateTime, by the producers' clocks",
    "LogAppendTime": "LogAppendTime, by the brokers' clocks",
    "commit": "of a table's rows, when they were committed",
    "files": "when the files changed last",
    "": "of an unknown clock: the brokers did not tell (they do to a user with DESCRIBE_CONFIGS)",
}
"""What SourceState.timestamps says."""


def lines(
    spec: Pipeline,
    found: Preflight,
    settings: Settings,
    paths: Paths,
    done: Positions,
    new: Mapping[int, int],
) -> tuple[str, ...]:
    name = found.target.table.path.name
    table = "" if name == first_table(spec) else f", table {name}"
    return (
        f"{spec.name}: {spec.inputs.told(settings.kafka)}, generation {found.identity.generation}, "
        f"state version {spec.state.version}{table}",
        f"watermark delay {interval(spec.watermark_delay or timedelta())}, "
        f"{spec.state.shuffle_partitions} shuffle partitions, state in {spec.state.provider}",
        f"Kafka timestamps: {WHOSE_CLOCK.get(found.topic.timestamps, WHOSE_CLOCK[''])}",
        *_decoders(spec, settings),
        *found.lines,
        *filter(None, (acceptance_line(spec),)),
        *(() if spec.is_archive else declarations(spec.inputs, paths)),
        *(lag_lines(found.topic, done) if spec.is_archive else ()),
        *(
            f"partition {spec.inputs.shown(p)}: next {done.told(p)}, "
            f"end {found.topic.latest.told(p)}, {new[p]} new"
            for p in sorted(new)
        ),
    )


def _decoders(spec: Pipeline, settings: Settings) -> Iterator[str]:
    jar, limits = files_jar(settings).is_file(), unheld(spec)
    for topic in spec.inputs:
        why = why_python(topic, limits) or ("" if jar else NO_JAR)
        yield f"{topic.name} is decoded by " + (f"Python: {why}" if why else "the JVM")


def of_topics(spec: Pipeline, clock: no_data_batch.Clock, new: Mapping[int, int]) -> Iterator[str]:
    if len(spec.inputs) == 1:
        return
    first = max(clock.topics.values(), default=clock.now)
    for number, topic in enumerate(spec.inputs):
        brings = sum(within(new, number).values())
        newest = clock.topics.get(topic.name)
        told = "no event time yet"
        if newest is not None:
            told = f"newest event {newest:%F %H:%M:%S}"
            told += f", {first - newest} behind the first" if first > newest else ""
        silent = "; silent, so it holds no window back" if topic.name in clock.silent else ""
        yield f"topic {topic.name}: {brings:,} new, {told}{silent}"


def of_publication(version: int | None, paths: Paths) -> tuple[str, ...]:
    if version is None:
        return ()
    return (
        f"table version {version} has passed the checks and is not published. {publisher(paths)}",
    )


def beside_lines(spec: Pipeline, settings: Settings, found: Preflight) -> Iterator[str]:
    """A line for each table beside the stream: what a drain would read. Raises what `pin` does."""
    in_table = partial(found.target.table.newest_batch, found.target.owner)
    pinned = pin(found.checkpoint, in_table, spec, settings)
    marked = {side.name for side in spec.sides if not side.keeps} if pinned.batch >= 0 else ()
    for name, of in pinned.inputs.items():
        moved = ""
        if name in pinned.moved:
            was = pinned.moved[name]
            moved = "; no note tells the one before" if was is None else f"; before {was.version}"
            if name in marked:
                moved += ", and rows that it changes are marked for `sluice repair`"
        yield f"{name}, read beside: version {of.version}{moved}"
