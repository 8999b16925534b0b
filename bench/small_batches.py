"""Ten small batches in one run, from nothing: what a batch costs when its rows cost little.

The guide's script is not among the rivals: with its 200 partitions ten batches take minutes and say
what its deliveries say.
"""

from __future__ import annotations

from pathlib import Path

from bench import workload
from bench.arms import Arm, Script, Sluice
from bench.measures import EXPERT, SLUICE
from bench.own_pipelines import PACKAGE, own_pipelines
from bench.pipelines.small_batches.spec import SPEC
from bench.results import Measure
from bench.rounds import Rounds, Say, Target, costs
from bench.topic import running
from spark_jobs.settings.installation import Settings

BATCHES = 10


def measures(home: Path, settings: Settings, say: Say, repetitions: int) -> list[Measure]:
    """So many rounds, with a broker of its own."""
    home.mkdir()
    most = SPEC.max_offsets_per_batch
    assert most
    records = BATCHES * most
    [delivery] = workload.deliveries(records, 0, 0)
    rounds = []
    with own_pipelines(), running(home, [delivery[:records]]) as topic:
        turns = Rounds(topic, say)
        topic.publish_next()
        for number in range(1, repetitions + 1):
            ours, theirs = home / f"sluice-{number}", home / f"expert-{number}"
            arms: dict[str, Arm] = {
                SLUICE: Sluice(
                    ours,
                    topic.brokers,
                    settings._replace(pipelines=PACKAGE),
                    pipeline=SPEC.name,
                ),
                EXPERT: Script(
                    theirs, topic.brokers, settings, EXPERT, "expert.py", most=str(most)
                ),
            }
            rounds.append(turns.round(arms, f"batches-{number}", records, turn=number))
            _hold_batches(rounds[-1][EXPERT].batches, rounds[-1][SLUICE].batches)
    work = f"{records:,} records in batches of {most:,}, one run"
    return costs(work, rounds, SLUICE, {EXPERT: Target()})


def _hold_batches(theirs: int | None, ours: int | None) -> None:
    """Spark rounds each partition's part of a batch, and ends with a batch that closes windows."""
    if ours != theirs or ours is None or ours < BATCHES:
        message = f"not the same work: Sluice has {ours} batches, the expert's script {theirs}"
        raise RuntimeError(message)
