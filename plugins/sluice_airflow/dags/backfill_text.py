"""The text of a backfill DAG's page, from the spec."""

from __future__ import annotations

from spark_jobs.messages.kind import ASKED_KINDS, KINDS, kinds_by_key
from spark_jobs.messages.request import APPROVALS
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.ranged import unranged

TASKS = """\
`plan` says which ranges, from which records, and skips the rest when there is nothing to do.
`stage` computes the rows beside the table and compares them with it. `check_output` and
`check_change` judge them. `approve` asks a person where one is needed. `swap` puts them into the
table in one commit, under the pipeline's lease; while a drain works, it is tried again for ten
minutes. `publish` tells downstream DAGs. Drains go on meanwhile."""
REBUILD = """\
Of a **rebuild** `plan` refuses what cannot be, `stage` drains NEXT beside the live table and merges
its late records, without a limit of time; tried again it goes on after the last batch that ended:
for a long history give NEXT `max_offsets_per_batch`. A check of NEXT that fails is an error of
`stage`. `approve` shows the difference by day, and the late records that stay waiting, and always
asks. `swap` refuses if NEXT, the live table or the rebuild is another one than was shown. It reads
what the live pipeline has read meanwhile, and switches in one commit. While it waits for the answer
no other run of this DAG begins. On the command line alone: the way back (`sluice rebuild {name}
--back`), to discard one that is half done (`--discard`), and to rebuild although Kafka has no
longer all records of the live table (`--without-lost`)."""

ONLY_A_REBUILD = """\
No range of its output can be computed by itself: {why}. So it has no repair, backfill, verify or
replay, and *Backfill* is off here.

**Trigger > Single Run** has a form with the one kind that is left. Choose it: since it reads the
whole history, an empty form is refused.

- **rebuild**{rebuild}. An archive of the topic is read only if ranges of NEXT can be computed."""


BY_KEYS = """\
Its table follows a key: {why}. Nothing is late, and *Backfill* is off here.

**Trigger > Single Run** has a form. Choose what to do:
"""


def page(spec: Pipeline) -> str:
    """The DAG's page, in Markdown."""
    rebuild = REBUILD.format(name=spec.name)
    why = unranged(spec)
    if why and spec.keyed:
        kinds = (f"- **{kind}**: {KINDS[kind].meaning}" for kind in kinds_by_key(spec))
        lines = (BY_KEYS.format(why=why), *kinds, "", TASKS, "", rebuild)
        return "\n".join((f"### Keys of {spec.name}, computed again", "", *lines))
    if why:
        only = ONLY_A_REBUILD.format(why=why, rebuild=f": {KINDS['rebuild'].meaning}")
        return "\n".join((f"### {spec.name}, computed again", "", only, "", rebuild))
    ways = (f"### Ranges of {spec.name}, computed again", "", *_ways(spec))
    return "\n".join((*ways, "", TASKS, "", rebuild))


def _ways(spec: Pipeline) -> list[str]:
    every = spec.ranges.every
    return [
        f"**Trigger > Backfill** makes a run for each {every}, in UTC, and each computes its "
        f"{every} again. The first and the last date are both included; the form turns your local "
        "time into UTC. A run whose range drains still write fails with RANGE_OPEN: *Missing and "
        "Errored Runs* takes it up again later. Airflow names a run by the end of its range. What "
        "is filled in below *Run Parameters* counts only if *Override parameters on existing runs* "
        "is ticked: a `verify` that is chosen without it is a backfill.",
        "",
        "**Trigger > Single Run** has a form: one run for one range, or for the ranges that late "
        "or replayed records touch, which Sluice finds.",
        "",
        *(f"- **{kind}**: {KINDS[kind].meaning}" for kind in ASKED_KINDS),
        "",
        f"**Approval**: {APPROVALS[spec.ranges.approve]}. The task waits for seven days.",
    ]
